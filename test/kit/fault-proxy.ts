import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** The faults of a network line. */
export interface Weather {
  /** Delays everything by this time. */
  readonly delayMs?: number;
  /** Delays the server's data by this time. */
  readonly replyDelayMs?: number;
  /** The number of pieces lost per thousand. TCP sends them again, after 200 ms, 400 ms and so on. */
  readonly lossPerMille?: number;
  /** Nothing arrives until the weather changes. Then everything arrives, as TCP retransmits it. */
  readonly partitioned?: boolean;
  /** New connections are reset. */
  readonly refusing?: boolean;
}

/** A TCP proxy in front of a server, which simulates the faults of a network. */
export interface FaultProxy {
  readonly port: number;
  /** The number of connections so far. */
  readonly connections: number;
  /** The next request still reaches the server, but the proxy cuts its connection before the reply. */
  cutNextReply(): void;
  /** The present connections stay open but carry nothing; new ones work. */
  silence(): void;
  /** Resets the present connections. */
  cut(): void;
  /** Sets the faults of all connections from now on; `{}` means none. */
  weather(weather: Weather): void;
  /** New connections go to another server. */
  moveTo(port: number): void;
  close(): void;
}

/** TCP retransmits first after about this time, and then after twice the time before. */
const retransmitMs = 200;

/** One direction of a connection. Delayed pieces arrive in order. */
class Lane {
  readonly #to: Socket;
  readonly #delayMs: () => number;
  #queue: { readonly bytes: Buffer; readonly dueAt: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(to: Socket, delayMs: () => number) {
    this.#to = to;
    this.#delayMs = delayMs;
  }

  carry(bytes: Buffer): void {
    const delayMs = this.#delayMs();
    if (delayMs === 0 && this.#queue.length === 0) {
      this.#to.write(bytes);
      return;
    }
    const dueAt = Math.max(performance.now() + delayMs, this.#queue.at(-1)?.dueAt ?? 0);
    this.#queue.push({ bytes, dueAt });
    this.#schedule();
  }

  /** Ends the direction after all pieces have arrived. */
  end(): void {
    this.#ended = true;
    if (this.#queue.length === 0) this.#to.end();
  }

  flush(): void {
    for (const { bytes } of this.#queue.splice(0)) this.#to.write(bytes);
    if (this.#ended) this.#to.end();
  }

  stop(): void {
    this.#queue = [];
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const [first] = this.#queue;
    clearTimeout(this.#timer);
    if (first === undefined || first.dueAt === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        while (this.#queue[0] !== undefined && this.#queue[0].dueAt <= performance.now()) {
          this.#to.write(this.#queue.shift()?.bytes ?? '');
        }
        if (this.#ended && this.#queue.length === 0) this.#to.end();
        this.#schedule();
      },
      Math.max(0, first.dueAt - performance.now()),
    );
  }
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly lanes: readonly [Lane, Lane];
  silent: boolean;
}

/** @param random - Decides which pieces are lost; from 0 inclusive to 1 exclusive. */
export async function startFaultProxy(targetPort: number, random: () => number = Math.random): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  let target = targetPort;
  let connections = 0;
  let cutting = false;
  let now: Weather = {};
  const delayMs = (isReply: boolean): number => {
    if (now.partitioned) return Number.POSITIVE_INFINITY;
    let ms = (now.delayMs ?? 0) + (isReply ? (now.replyDelayMs ?? 0) : 0);
    for (let wait = retransmitMs; random() * 1000 < (now.lossPerMille ?? 0); wait *= 2) ms += wait;
    return ms;
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    connections += 1;
    if (now.refusing) {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    client.setNoDelay();
    upstream.setNoDelay();
    const up = new Lane(upstream, () => delayMs(false));
    const down = new Lane(client, () => delayMs(true));
    const pair: Pair = { client, upstream, lanes: [up, down], silent: false };
    pairs.add(pair);
    client.on('data', (bytes: Buffer) => {
      if (!pair.silent) up.carry(bytes);
    });
    upstream.on('data', (bytes: Buffer) => {
      if (pair.silent) return;
      if (!cutting) {
        down.carry(bytes);
        return;
      }
      cutting = false;
      client.destroy();
      upstream.destroy();
    });
    client.on('end', () => up.end());
    upstream.on('end', () => down.end());
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {
        if (!pair.silent) other.resetAndDestroy();
      });
      socket.on('close', () => {
        if (!pair.silent) other.destroySoon();
        if (!client.destroyed || !upstream.destroyed) return;
        for (const lane of pair.lanes) lane.stop();
        pairs.delete(pair);
      });
    }
  });
  const port = await listenOnLoopback(server);
  const reset = (): void => {
    for (const { client, upstream } of pairs) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  };
  return {
    port,
    get connections() {
      return connections;
    },
    cutNextReply() {
      cutting = true;
    },
    silence() {
      for (const pair of pairs) pair.silent = true;
    },
    cut: reset,
    weather(weather) {
      now = weather;
      for (const { lanes, silent } of pairs)
        if (!silent && !weather.partitioned) for (const lane of lanes) lane.flush();
    },
    moveTo(other) {
      target = other;
    },
    close() {
      server.close();
      for (const { client, upstream } of pairs) {
        client.destroy();
        upstream.destroy();
      }
    },
  };
}
