// Runs modules one after the other in this process, each in a folder: `node run-examples.mjs FOLDER MODULE FOLDER MODULE ...`.
// A line before what each prints says which it is, for whoever reads the output.
const modules = process.argv.slice(2);
for (let at = 0; at < modules.length; at += 2) {
  const [folder, module] = [modules[at], modules[at + 1]];
  process.stdout.write(`\n>>> ${module}\n`);
  process.chdir(folder);
  await import(module);
}
