/** One mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export const mailOf = (to: string, subject: string, lines: readonly string[]): Mail => ({
  to,
  subject,
  text: lines.join('\n'),
});

/** Cuts a name that a person chose to one line, for a mail's subject or text. */
export const oneLine = (name: string): string => name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

/** A way to send mail. A deployment without one has to disable the features that need mail. */
export interface Mailer {
  /** `sent` to the address, or `printed` to the terminal of the operator. */
  readonly how: 'sent' | 'printed';
  /** Sends a mail. Rejects if that fails. It may take a minute, so requests must not wait for it. */
  send(mail: Mail): Promise<void>;
  /** Closes open connections. Mails that still wait are lost. */
  close(): void;
}

/** Adds the host of the service to the subject of each mail, because people have accounts at many services. */
export const namingService = (mailer: Mailer, origin: string): Mailer => ({
  ...mailer,
  send: ({ subject, ...mail }) => mailer.send({ ...mail, subject: `${subject} (${new URL(origin).host})` }),
});

/** Prints mails instead of sending them. For `npm start`, where all readers use one machine. */
export const printMail = (write: (text: string) => void): Mailer => ({
  how: 'printed',
  async send({ to, subject, text }) {
    if (leavesThisMachine(to)) write(`\nmail to ${to}: ${subject}\n${text}\n`);
  },
  close: () => {},
});

/** Whether an address can have a mailbox. Names under `.localhost` belong to this machine alone (RFC 6761, 6.3). */
export const leavesThisMachine = (address: string): boolean => !/[@.]localhost$/i.test(address);
