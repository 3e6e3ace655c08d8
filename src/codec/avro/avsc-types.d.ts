declare module 'avsc/lib/types.js' {
  import type avsc from 'avsc';

  const library: { readonly Type: typeof avsc.Type; readonly builtins: typeof avsc.types };
  export = library;
}
