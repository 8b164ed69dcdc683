import { repeat, type Task } from '@sotto/server';
import pg from 'pg';

/** The interval at which the session is checked, or a lost one replaced. */
const checkMs = 5_000;
const answerMs = 5_000;

/**
 * Returns a task that listens to a channel in a session of its own. It calls `wake` at every notification, and at the begin of each
 * session, because it missed what was notified before.
 */
export function listen(
  url: string,
  channel: string,
  { wake, failed }: { readonly wake: () => void; readonly failed: (error: unknown) => void },
): Task {
  let current: pg.Client | undefined;
  const open = async (): Promise<void> => {
    const session = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    const lose = (): void => {
      if (current !== session) return;
      current = undefined;
      task.wake();
    };
    session.on('error', lose);
    session.on('end', lose);
    session.on('notification', wake);
    await session.connect();
    await ask(session, `listen ${channel}`);
    current = session;
    wake();
  };
  const task = repeat(checkMs, () => (current === undefined ? open() : ask(current, 'select 1')), failed);
  return {
    start: task.start,
    async stop() {
      await task.stop();
      // A session that is silent for long may not end at all.
      void current?.end().catch(() => {});
    },
  };
}

/** Asks a session, and ends one that does not answer. */
async function ask(session: pg.Client, statement: string): Promise<void> {
  try {
    await session.query(statement);
  } catch (error) {
    await session.end().catch(() => {});
    throw error;
  }
}
