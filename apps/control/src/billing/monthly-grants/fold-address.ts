import { domainToASCII } from 'node:url';

/** Google ignores dots in these addresses, and delivers both domains to one mailbox: https://support.google.com/mail/answer/7436150 */
const gmailDomains = new Set(['gmail.com', 'googlemail.com']);

/**
 * Returns one text for all addresses that reach the same mailbox, as far as that is known: without upper case, without what follows a
 * `+`, and with the domain in ASCII. Other marks of tags, such as `-`, also stand in names of different people.
 */
export function foldAddress(email: string): string {
  const at = email.lastIndexOf('@');
  const given = email
    .slice(at + 1)
    .toLowerCase()
    .replace(/\.$/, '');
  const domain = domainToASCII(given) || given;
  const local = email
    .slice(0, at)
    .toLowerCase()
    .replace(/(?<=.)\+.*$/, '');
  return gmailDomains.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}
