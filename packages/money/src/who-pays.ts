/** How a request ended, as far as money is concerned. */
export type RequestEnd =
  /** The client has, or could have had, the whole answer. */
  | 'completed'
  /** The client left while the answer was being produced. */
  | 'client_left'
  /** The provider broke the stream after output. */
  | 'provider_broke'
  /** The provider broke the stream while the client was holding it back (back-pressure). */
  | 'provider_broke_while_held_back'
  /** Our own total time ran out after output. */
  | 'total_time_ran_out'
  /** The process that served it went, after output. */
  | 'shut_down'
  /** The process that served it went while the client was holding it back. */
  | 'shut_down_while_held_back'
  /** The client left before there was any output. */
  | 'client_left_before_output'
  /** No output at all: refused, failed or timed out before any. */
  | 'no_output';

/** Who pays for what was produced until the end (design 5, "who pays"). */
export const whoPays = {
  completed: 'client',
  client_left: 'client',
  provider_broke: 'operator',
  provider_broke_while_held_back: 'client',
  total_time_ran_out: 'client',
  shut_down: 'operator',
  shut_down_while_held_back: 'client',
  client_left_before_output: 'operator',
  no_output: 'operator',
} as const satisfies Record<RequestEnd, 'client' | 'operator'>;
