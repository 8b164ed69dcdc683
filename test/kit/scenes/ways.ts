import type { Flow } from '../client.ts';

/** A way to request a chat completion. */
export interface Way {
  readonly flow: Flow;
  readonly stream: boolean;
  readonly name: string;
}

const way = (flow: Flow, stream: boolean): Way => ({ flow, stream, name: `${flow}, ${stream ? 'streamed' : 'whole'}` });

export const everyWay: readonly Way[] = [
  way('compatibility', false),
  way('compatibility', true),
  way('ticket', false),
  way('ticket', true),
];
export const bothModes: readonly Way[] = [way('compatibility', false), way('compatibility', true)];
