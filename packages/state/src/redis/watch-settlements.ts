import type { SettlementWatch } from '../ports/index.ts';
import type { RedisConnection } from './connection.ts';
import { settledChannel } from './settled-channel.ts';

/** The interval at which the connection is checked, because a subscriber does not notice a peer that is gone. */
const checkMs = 5_000;

/**
 * Calls `wake` at each announcement, and whenever the connection begins, because it missed what was announced before. A cluster's
 * client replaces a subscriber that ended, but neither checks it nor says so: what is missed then, the reader finds by looking.
 */
export function watchSettlements(
  connect: () => RedisConnection,
  wake: () => void,
  refused: (error: Error) => void,
): SettlementWatch {
  let connection: RedisConnection | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      const opened = connect();
      connection = opened;
      opened.on('message', wake);
      // The connection subscribes again by itself when it was lost.
      opened.on('ready', () => void opened.subscribe(settledChannel).then(wake, refused));
      timer = setInterval(() => void opened.ping().catch(() => opened.disconnect(true)), checkMs).unref();
    },
    stop() {
      clearInterval(timer);
      connection?.disconnect();
    },
  };
}
