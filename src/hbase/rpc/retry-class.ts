/**
 * What to do about an error:
 * - `never`: the same call fails again.
 * - `scanner`: this scanner is lost; open another one where it stood.
 * - `busy`: wait and repeat; the region is where it was thought to be.
 * - `immediate`: repeat at once (inside a Multi: the answer was full).
 * - `moved`: the region is elsewhere, and the error says where.
 * - `relocate`: look the region up again and repeat.
 * - `fatal`: the server will not speak with this client; the connection is closed.
 */
export type RetryClass = 'never' | 'scanner' | 'busy' | 'immediate' | 'moved' | 'relocate' | 'fatal';
