/** One mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends a mail, or rejects where it could not be handed on. */
export type SendMail = (mail: Mail) => Promise<void>;

/** Writes mails out instead of sending them: for `npm start`, where all who read are at one machine. */
export const printMail =
  (write: (text: string) => void): SendMail =>
  async ({ to, subject, text }) =>
    write(`\nmail to ${to}: ${subject}\n${text}\n`);
