import { setTimeout as sleep } from 'node:timers/promises';
import { setting } from '@sotto/settings';
import { createTransport } from 'nodemailer';
import { leavesThisMachine, type Mail, type Mailer } from './mail.ts';

/** Where mail goes out. */
export interface SmtpSettings {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: string;
  /** The sender, `name@host` or `Name <name@host>`. */
  readonly from: string;
}

/** How long each mail is waited for before it is tried again: three times in about a minute. */
const pausesMs = [2_000, 15_000, 45_000] as const;
/** Mails that may wait at once; one more is refused at once, so that a server that is down costs no memory. */
const maxWaiting = 1_000;
const timeoutMs = 15_000;

/**
 * Sends by SMTP, over TLS except to this machine. A server that cannot be reached or says "later" (4yz) is asked again;
 * `send` rejects with the last failure. Nothing is kept over a restart: every mail can be asked for again.
 */
export function smtpMail({ url, from }: SmtpSettings, pauses: readonly number[] = pausesMs): Mailer {
  const { hostname, protocol } = new URL(url);
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 4,
    requireTLS: protocol === 'smtp:' && !setting.isLoopback(hostname.replace(/^\[|\]$/g, '')),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // What a mail is made of comes from people: none of it is a path or an address to read from.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const once = async ({ to, subject, text }: Mail): Promise<void> => {
    await transport.sendMail({
      from,
      // As an object: a text would be read as a list of addresses.
      to: { name: '', address: to },
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  };
  let waiting = 0;
  return {
    how: 'sent',
    close: () => transport.close(),
    async send(mail) {
      if (!leavesThisMachine(mail.to)) return;
      if (waiting >= maxWaiting) throw new Error('too many mails are waiting');
      waiting += 1;
      try {
        for (const pauseMs of pauses) {
          const failure = await once(mail).then(
            () => undefined,
            (error: unknown) => ({ error }),
          );
          if (failure === undefined) return;
          if (isFinal(failure.error)) throw failure.error;
          await sleep(pauseMs, undefined, { ref: false });
        }
        await once(mail);
      } finally {
        waiting -= 1;
      }
    },
  };
}

/** Whether a server has refused for good (5yz, RFC 5321 4.2.1). */
const isFinal = (error: unknown): boolean =>
  error instanceof Error &&
  'responseCode' in error &&
  typeof error.responseCode === 'number' &&
  error.responseCode >= 500;
