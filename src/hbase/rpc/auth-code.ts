/** The byte of the preamble that says how a client authenticates. */
export const AuthCode = { Simple: 0x50, Kerberos: 0x51, Digest: 0x52 } as const;
export type AuthCode = (typeof AuthCode)[keyof typeof AuthCode];
