/** What is used of the package `kerberos`; tokens are base64. */
export interface KerberosModule {
  initializeClient(
    service: string,
    options: { readonly principal?: string; readonly mechOID?: number; readonly flags?: number },
  ): Promise<KerberosClient>;
}

export interface KerberosClient {
  readonly contextComplete: boolean;
  readonly username?: string;
  /** Whether what was unwrapped last had been sealed: 0 or 1. */
  readonly responseConf?: number | string;
  step(challenge: string): Promise<string>;
  unwrap(challenge: string): Promise<string>;
  wrap(challenge: string, options: { readonly protect: boolean }): Promise<string>;
}
