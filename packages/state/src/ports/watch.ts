/** Calls back when the state announces something, from `start` to `stop`. */
export interface StateWatch {
  start(): void;
  stop(): void;
}
