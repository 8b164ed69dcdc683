/** Whether the state is available and has control's projection. */
export interface ReadinessPort {
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

export interface MemoryUse {
  readonly usedBytes: number;
  /** At this size, the store refuses writes that need memory. */
  readonly limitBytes: number;
}

/** How full the store is. */
export interface CapacityPort {
  /** Returns the memory of the store's fullest server. Undefined if it is unknown, or this process's own. */
  readMemory(): Promise<MemoryUse | undefined>;
}
