import type { RequestEnd } from '@sotto/money';
import type { Attempt } from '../attempts/attempt.ts';
import type { Deadline, Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/flowing-attempt.ts';
import type { ClientLink } from './client-link.ts';
import { FlowTimes } from './flow-times.ts';
import { KeepAlive } from './keep-alive.ts';

/** How a stream ended, and its time from the first output to its end, in ms. */
export interface StreamFlow {
  readonly end: StreamEnd;
  readonly flowMs: number;
  /** The part of that time in which the client held the stream back. */
  readonly heldBackMs: number;
  /** The part in which the provider sent nothing, in pauses long enough to hide work. */
  readonly silentMs: number;
  /** The number of pieces sent to the client. */
  readonly pieces: number;
}

export type StreamEnd =
  | 'complete'
  | 'client_left'
  | 'broke'
  | 'broke_while_held_back'
  | 'shut_down_while_held_back'
  | Expiry;

/** How each end of a stream is charged. */
export const requestEnds: Readonly<Record<StreamEnd, RequestEnd>> = {
  complete: 'completed',
  client_left: 'client_left',
  broke: 'provider_broke',
  broke_while_held_back: 'provider_broke_while_held_back',
  out_of_time: 'total_time_ran_out',
  shut_down: 'shut_down',
  shut_down_while_held_back: 'shut_down_while_held_back',
};

/** An answer that has output and flows from here on. */
export interface FlowingAnswer {
  readonly attempt: Pick<Attempt, 'abort' | 'pause' | 'resume'> & {
    /**
     * Tells the attempt that the client has left, so that it pays for no later output. Returns whether the usage is still
     * to come. Absent if no usage comes.
     */
    clientLeft?(): boolean;
    /** Sends what is left of an answer that lacks at most its usage and its end. Returns false for any other answer. */
    sendRest?(): boolean;
    flowTo(sink: StreamSink): void;
  };
  readonly contentType: string;
  /** The provider's own headers, as name, value, name, value. */
  readonly relayedHeaders?: readonly string[];
  /** How long a client must take nothing before this counts against it, in ms. */
  readonly heldBackFromMs: number;
  /** Whether the provider may bill output that it does not show. */
  readonly hidesOutput?: boolean;
  /** Whether it consists of whole frames of events, between which comments may stand. */
  readonly takesComments?: boolean;
}

/** During a shutdown, a client that has taken nothing for this long has itself kept its stream from ending. */
const stalledFromMs = 1_000;
/** Time in ms to wait for the usage after the client has left. Otherwise leaving early could be cheaper than staying. */
const usageWaitMs = 5_000;

/** The client's side of a stream. */
export interface StreamTarget {
  readonly client: ClientLink;
  readonly deadline: Deadline;
  /** Sends the headers: the service's own, then these, as name, value, name, value. */
  readonly begin: (...headers: readonly string[]) => void;
  readonly keepAliveMs: number | undefined;
  readonly monotonicNow: () => number;
}

/**
 * Sends the headers and lets a stream flow to the client, with back-pressure, until it ends. Resolves with how it
 * ended. The caller settles the request and then sends the rest: usage, terminator or error.
 *
 * A stream is in one of four states.
 *
 * - `flowing`: the client takes each piece. The first piece that it does not take pauses the provider: `held_back`.
 * - `held_back`: pieces that were on their way are still sent. When the client has taken everything, the provider goes
 *   on: `flowing`.
 * - `awaiting_usage`: the client has left, and the provider still owes the usage of what it took. Pieces are dropped.
 * - `over`: the end is reported. Nothing that comes later changes it.
 *
 * A stream that flows or is held back is over when the provider ends it, when its deadline expires, or when the client
 * leaves. If the client leaves while usage is owed, the stream awaits it. It is then over when the provider ends, when
 * the deadline expires, or after five seconds, and each of these means that the client left.
 */
export function streamToClient(answer: FlowingAnswer, target: StreamTarget): Promise<StreamFlow> {
  const { client, begin } = target;
  const { contentType, relayedHeaders = [] } = answer;
  // Proxies must not buffer the stream.
  if (!client.hasLeft) begin('content-type', contentType, ...relayedHeaders, 'x-accel-buffering', 'no');
  return new Promise((resolve) => new ClientStream(answer, target, resolve).open());
}

type StreamState = 'flowing' | 'held_back' | 'awaiting_usage' | 'over';

/** One stream on its way to its client. Each public method is an event, and acts by the state. */
class ClientStream implements StreamSink {
  #state: StreamState = 'flowing';
  readonly #attempt: FlowingAnswer['attempt'];
  readonly #client: ClientLink;
  readonly #deadline: Deadline;
  readonly #report: (flow: StreamFlow) => void;
  readonly #hidesOutput: boolean;
  readonly #times: FlowTimes;
  readonly #keepAlive: KeepAlive;
  #pieces = 0;
  #usageWait: NodeJS.Timeout | undefined;

  constructor(
    { attempt, heldBackFromMs, hidesOutput = false, takesComments = false }: FlowingAnswer,
    { client, deadline, keepAliveMs, monotonicNow }: StreamTarget,
    report: (flow: StreamFlow) => void,
  ) {
    this.#attempt = attempt;
    this.#client = client;
    this.#deadline = deadline;
    this.#report = report;
    this.#hidesOutput = hidesOutput;
    this.#times = new FlowTimes({ monotonicNow, heldBackFromMs });
    const mayWrite = (): boolean => this.#state === 'flowing';
    this.#keepAlive = new KeepAlive(client, takesComments ? keepAliveMs : undefined, mayWrite);
  }

  open(): void {
    const { expired } = this.#deadline;
    // The deadline may have expired between the attempt's start and here.
    if (expired !== undefined) {
      if (this.#client.hasLeft) this.#giveUp();
      else this.expire(expired);
      return;
    }
    this.#client.onLeft(() => this.leave());
    this.#deadline.onExpired((why) => this.expire(why));
    if (this.#client.hasLeft) this.leave();
    this.#attempt.flowTo(this);
  }

  /** The provider has sent a piece. */
  write(piece: string | Buffer): void {
    switch (this.#state) {
      case 'flowing':
        if (!this.#send(piece)) this.#holdBack();
        return;
      case 'held_back':
        this.#send(piece);
        return;
      case 'awaiting_usage':
      case 'over':
        return;
      default:
        this.#state satisfies never;
    }
  }

  /** The provider has ended the answer, or broken it off. */
  end(ending: 'complete' | 'broke'): void {
    this.#endUnlessLeft(() => {
      if (ending === 'complete') return 'complete';
      return this.#times.mayBreakOnClient ? 'broke_while_held_back' : 'broke';
    });
  }

  /** The client has taken everything that was sent. */
  readonly drain = (): void => {
    if (this.#state !== 'held_back') return;
    this.#state = 'flowing';
    this.#letGo();
  };

  /** The client has left. */
  leave(): void {
    const before = this.#state;
    this.#times.hear();
    // The attempt first reads what has come. From here on, that is for its usage only.
    this.#state = 'awaiting_usage';
    if (this.#attempt.clientLeft?.() !== true) {
      this.#giveUp();
      return;
    }
    this.#usageWait = setTimeout(() => this.#giveUp(), usageWaitMs);
    if (before === 'held_back') this.#letGo();
  }

  /** The time of the request is over. */
  expire(why: Expiry): void {
    this.#endUnlessLeft(() => this.#cutOff(why));
  }

  /** Sends a piece. Returns false if the client has not taken it at once. */
  #send(piece: string | Buffer): boolean {
    if (this.#hidesOutput) this.#times.hear();
    this.#pieces += 1;
    this.#keepAlive.wrote();
    return this.#client.write(piece);
  }

  #holdBack(): void {
    this.#state = 'held_back';
    this.#times.holdBack();
    this.#attempt.pause();
    this.#client.response.once('drain', this.drain);
  }

  #letGo(): void {
    this.#client.response.off('drain', this.drain);
    this.#times.letGo();
    this.#attempt.resume();
  }

  /** Ends the stream: as `how` says, or because the client had left. */
  #endUnlessLeft(how: () => StreamEnd): void {
    switch (this.#state) {
      case 'flowing':
      case 'held_back':
        this.#over(how());
        return;
      case 'awaiting_usage':
        this.#giveUp();
        return;
      case 'over':
        return;
      default:
        this.#state satisfies never;
    }
  }

  /** Ends the attempt because its time is over. An answer that lacks only its closing words gets them. */
  #cutOff(why: Expiry): StreamEnd {
    const isWhole = this.#pieces > 0 && this.#attempt.sendRest?.() === true;
    this.#attempt.abort();
    if (isWhole) return 'complete';
    // During a shutdown the client is at fault only if it has been stalled for a while.
    return why === 'shut_down' && this.#times.isHeldBackFor(stalledFromMs) ? 'shut_down_while_held_back' : why;
  }

  /** Ends the attempt of a client that has left. */
  #giveUp(): void {
    if (this.#state === 'over') return;
    this.#attempt.abort();
    this.#over('client_left');
  }

  #over(end: StreamEnd): void {
    this.#state = 'over';
    clearTimeout(this.#usageWait);
    this.#keepAlive.stop();
    this.#client.onLeft(undefined);
    this.#deadline.onExpired(undefined);
    this.#client.response.off('drain', this.drain);
    this.#report({ end, ...this.#times.end(this.#client.hasLeft), pieces: this.#pieces });
  }
}
