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
  /** The process that served it ended, after output. */
  | 'shut_down'
  /** The process that served it ended while the client was holding it back. */
  | 'shut_down_while_held_back'
  /** The provider's answer is longer than the broker can pass on, and the client had asked for that much. */
  | 'answer_too_large'
  /** The client left while a provider worked and before it had any output. */
  | 'client_left_before_output'
  /** No output at all: refused, failed or timed out before any. */
  | 'no_output';

/**
 * The party that pays for the output of a request. `client_unless_waived`: the client got nothing, and the provider may
 * have worked for it. The ledger waives such charges up to an allowance per account and hour. Giving up a request now and
 * then is free; a client cannot make the operator pay for many.
 */
export const whoPays = {
  completed: 'client',
  client_left: 'client',
  provider_broke: 'operator',
  provider_broke_while_held_back: 'client',
  total_time_ran_out: 'client',
  shut_down: 'operator',
  shut_down_while_held_back: 'client',
  answer_too_large: 'client',
  client_left_before_output: 'client_unless_waived',
  no_output: 'operator',
} as const satisfies Record<RequestEnd, 'client' | 'client_unless_waived' | 'operator'>;
