/** A start that cannot go on: one line, no stack. */
export class StartError extends Error {}
