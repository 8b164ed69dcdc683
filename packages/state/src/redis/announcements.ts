import type { StateWatch } from '../ports/index.ts';
import { type Channel, channels } from './channels.ts';
import type { RedisConnection } from './connection.ts';

/** The interval at which the connection is checked, because a subscriber does not notice a peer that is gone. */
const checkMs = 5_000;

/**
 * Announcements of the state, on one connection for all who listen. It calls them whenever the connection begins, because it missed
 * what was announced before. A cluster's client replaces a subscriber that ended, but neither checks it nor says so: what is missed
 * then, the reader finds by looking.
 */
export class Announcements {
  readonly #connect: () => RedisConnection;
  readonly #refused: (error: Error) => void;
  readonly #listeners = new Map<() => void, Channel>();
  #open: { readonly connection: RedisConnection; readonly timer: NodeJS.Timeout } | undefined;

  /** `refused` is called if the connection's user lacks the right to a channel. */
  constructor(connect: () => RedisConnection, refused: (error: Error) => void) {
    this.#connect = connect;
    this.#refused = refused;
  }

  watch(channel: Channel, wake: () => void): StateWatch {
    return {
      start: () => {
        this.#listeners.set(wake, channel);
        this.#open ??= this.#begin();
        if (this.#open.connection.status === 'ready') this.#subscribe(this.#open.connection, channel);
      },
      stop: () => {
        this.#listeners.delete(wake);
        if (this.#listeners.size > 0 || this.#open === undefined) return;
        clearInterval(this.#open.timer);
        this.#open.connection.disconnect();
        this.#open = undefined;
      },
    };
  }

  #begin() {
    const connection = this.#connect();
    connection.on('message', (name: string) => {
      for (const [wake, channel] of this.#listeners) if (channels[channel] === name) wake();
    });
    // The connection subscribes again by itself when it was lost.
    connection.on('ready', () => {
      for (const channel of new Set(this.#listeners.values())) this.#subscribe(connection, channel);
    });
    const timer = setInterval(() => void connection.ping().catch(() => connection.disconnect(true)), checkMs).unref();
    return { connection, timer };
  }

  #subscribe(connection: RedisConnection, channel: Channel): void {
    const wakeAll = (): void => {
      for (const [wake, of] of this.#listeners) if (of === channel) wake();
    };
    connection.subscribe(channels[channel]).then(wakeAll, this.#refused);
  }
}
