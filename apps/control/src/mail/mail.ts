/** One mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Hands a mail on, or rejects where that is not possible. It may take a minute: no request waits for it. */
export type SendMail = (mail: Mail) => Promise<void>;

/** A way for mail to leave. Where there is none at all, what a mail would have carried is not to be had. */
export interface Mailer {
  /** `sent` to the address, or `printed` where whoever runs this reads it. */
  readonly how: 'sent' | 'printed';
  readonly send: SendMail;
  /** Gives back what it holds open; mails that still wait are lost. */
  close(): void;
}

/** Writes mails out instead of sending them: for `npm start`, where all who read are at one machine. */
export const printMail = (write: (text: string) => void): Mailer => ({
  how: 'printed',
  async send({ to, subject, text }) {
    if (leavesThisMachine(to)) write(`\nmail to ${to}: ${subject}\n${text}\n`);
  },
  close: () => {},
});

/** Whether an address can have a mailbox: names under `.localhost` are of this machine alone (RFC 6761, 6.3). */
export const leavesThisMachine = (address: string): boolean => !/[@.]localhost$/i.test(address);
