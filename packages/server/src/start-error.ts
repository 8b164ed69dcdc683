import type { Settings } from './settings/read-settings.ts';

/** Thrown when a process cannot start. Its message is what the process prints about it, without a stack. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}

/** Returns settings that a process cannot start without. Throws a `StartError`. */
export function required<T>(read: Settings<T>): T {
  if (!read.ok) throw new StartError(read.message);
  return read.settings;
}
