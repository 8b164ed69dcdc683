import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from './service.ts';

interface Received {
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  readonly text: string;
}

/** A mail server on this machine that accepts everything, with its mails. */
export interface Mailbox {
  readonly url: string;
  readonly received: readonly Received[];
  /** Waits for the newest mail to an address whose subject contains a text. */
  newest(to: string, subject: string): Promise<Received>;
  /** Returns the token of the link in that mail. */
  token(to: string, subject: string): Promise<string>;
  countTo(to: string): number;
  /** Rejects the next recipients, each with one of these SMTP statuses, and then none. */
  refuse(...statuses: readonly number[]): void;
  stop(): Promise<void>;
}

export async function openMailbox(host = '127.0.0.1'): Promise<Mailbox> {
  const received: Received[] = [];
  const refusals: number[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, callback) {
      const status = refusals.shift();
      callback(status === undefined ? null : Object.assign(new Error('not now'), { responseCode: status }));
    },
    onData(stream, session, callback) {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const raw = Buffer.concat(pieces).toString('utf8');
        const [head = '', ...body] = raw.split('\r\n\r\n');
        const isQuoted = /content-transfer-encoding: quoted-printable/i.test(head);
        const text = body.join('\r\n\r\n');
        received.push({
          to: session.envelope.rcptTo.map(({ address }) => address).join(),
          from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
          subject: /^subject: (.*)$/im.exec(head)?.[1] ?? '',
          text: isQuoted ? unquoted(text) : text,
        });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.server.address() as AddressInfo;
  const mailbox: Mailbox = {
    url: `smtp://${host}:${port}`,
    received,
    async newest(to, subject) {
      let found: Received | undefined;
      await until(async () => {
        found = received.findLast((mail) => mail.to === to && mail.subject.includes(subject));
        return found !== undefined;
      }, `a mail about ${subject}`);
      if (found === undefined) throw new Error('no mail');
      return found;
    },
    async token(to, subject) {
      const { text } = await mailbox.newest(to, subject);
      const token = /#token=(\S+)/.exec(text)?.[1];
      if (token === undefined) throw new Error(`no link in ${text}`);
      return token;
    },
    countTo: (to) => received.filter((mail) => mail.to === to).length,
    refuse: (...statuses) => void refusals.push(...statuses),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return mailbox;
}

const unquoted = (text: string): string =>
  text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
