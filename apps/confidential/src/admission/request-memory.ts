import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { partOfOne } from '@sotto/server';
import { maxContentBytes } from '@sotto/wire';

/**
 * The bytes of memory that a request holds at most for each byte of its body: the bytes that came, the parsed values,
 * and the provider's request. It was measured with images of 7.6 MiB, including what waits to be collected.
 */
export const bodyWeight = 3;

/** The memory that a process may use, in bytes. */
export interface ProcessMemory {
  /** The machine's memory, or the limit of the container. */
  readonly resident: number;
  /** The limit of the heap, where parsed bodies are. */
  readonly heap: number;
}

/** Reads the limits of this process. */
export function memoryOfProcess(): ProcessMemory {
  const total = totalmem();
  // Without a limit, Linux reports a number of exbibytes. Where Node knows of none, it returns 0.
  const resident = Math.min(total, process.constrainedMemory() || total);
  return { resident, heap: getHeapStatistics().heap_size_limit };
}

/**
 * Returns the bytes of memory that requests may hold because of their bodies. The other half is for everything else:
 * the process itself, answers and connections.
 */
export const requestMemoryOf = ({ resident, heap }: ProcessMemory): number => Math.min(resident / 2, heap);

/** Returns the largest body in bytes. A larger one would not even fit if it were the only one. */
export const largestBodyIn = (requestMemory: number): number =>
  Math.min(maxContentBytes, Math.floor(partOfOne(requestMemory) / bodyWeight));
