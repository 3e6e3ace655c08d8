// Runs modules one after the other in this process, each in its own folder: `node run-examples.mjs FOLDER FILE FOLDER FILE ...`.
// A line before what each prints says which it is, for whoever reads the output.
const modules = process.argv.slice(2);
for (let at = 0; at < modules.length; at += 2) {
  const [folder, file] = [modules[at], modules[at + 1]];
  process.stdout.write(`\n>>> ${folder}/${file}\n`);
  process.chdir(folder);
  await import(`${folder}/${file}`);
}
