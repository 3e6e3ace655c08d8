/** What is done to an entity before it is handed out. */
export type Finish = (entity: Record<string, unknown>) => void;
