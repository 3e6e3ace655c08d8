/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function signalled(): { readonly came: Promise<string>; forget(): void } {
  let forget = (): void => undefined;
  const came = new Promise<string>((resolve) => {
    const end = (name: string): void => {
      forget();
      resolve(name);
    };
    process.on('SIGTERM', end);
    process.on('SIGINT', end);
    forget = () => {
      process.off('SIGTERM', end);
      process.off('SIGINT', end);
    };
  });
  return { came, forget: () => forget() };
}
