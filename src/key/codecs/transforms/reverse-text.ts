/** The characters (code points) in reverse; twice gives the text again. */
export function reverseText(text: string): string {
  let out = '';
  for (const character of text) out = character + out;
  return out;
}
