import { setTimeout as sleep } from 'node:timers/promises';
import { setting } from '@sotto/server';
import { leavesThisMachine, type Mail, type Mailer } from './mail.ts';

export interface SmtpSettings {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: string;
  /** The sender, `name@host` or `Name <name@host>`. */
  readonly from: string;
}

/** Pauses before a mail is tried again: three times in about a minute. */
const pausesMs = [2_000, 15_000, 45_000] as const;
/**
 * Maximum number of waiting mails. The next one is rejected, so that an unreachable server does not fill the memory.
 */
const maxWaiting = 1_000;
const timeoutMs = 15_000;

/**
 * Sends by SMTP, with TLS except to this machine. Retries if the server cannot be reached or answers "later" (4yz).
 * Then `send` rejects with the last failure. A restart loses waiting mails; people can request every mail again.
 */
export function smtpMail({ url, from }: SmtpSettings, pauses: readonly number[] = pausesMs): Mailer {
  const { hostname, protocol } = new URL(url);
  const open = async () => {
    // Large, and seldom needed.
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      pool: true,
      maxConnections: 4,
      requireTLS: protocol === 'smtp:' && !setting.isLoopback(hostname.replace(/^\[|\]$/g, '')),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      // People choose parts of a mail. Never treat a part as a path or an address to read from.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  let transport: ReturnType<typeof open> | undefined;
  const once = async ({ to, subject, text }: Mail): Promise<void> => {
    transport ??= open();
    await (await transport).sendMail({
      from,
      // Pass an object: nodemailer would read a string as a list of addresses.
      to: { name: '', address: to },
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  };
  let waiting = 0;
  return {
    how: 'sent',
    close: () => void transport?.then((opened) => opened.close()),
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

/** Whether a server's refusal is final (5yz, RFC 5321 4.2.1). */
const isFinal = (error: unknown): boolean =>
  error instanceof Error &&
  'responseCode' in error &&
  typeof error.responseCode === 'number' &&
  error.responseCode >= 500;
