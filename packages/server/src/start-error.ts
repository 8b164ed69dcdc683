/** Thrown when a process cannot start. Its message is what the process prints about it, without a stack. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}
