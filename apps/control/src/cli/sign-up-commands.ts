import { readLinkSettings } from '../config.ts';
import {
  hasSignedUp,
  inviteToSignUp,
  listSignUpInvitations,
  signUpInvitationMail,
} from '../operator/sign-up-invitations.ts';
import { mailNow, readAddress } from './account-commands.ts';
import { CliError, type CliProcess, commandLine, required, UsageError, withDatabase } from './cli-process.ts';

/**
 * Invites addresses to sign up, by mail if it is configured. `-` stands for the addresses on standard input. Invites none if one is
 * malformed. An address that has an account gets no mail: its invitation only lets workspaces of other domains invite it.
 */
export async function signUpInvite(context: CliProcess, given: readonly string[]): Promise<void> {
  const read = given.join() === '-' ? addressesOf(await context.readInput()) : given.map(readAddress);
  if (read.length === 0) throw new UsageError('an address is missing; write it as ann@example.com, or - to read them');
  const emails = [...new Set(read)];
  const { origin, signIn } = required(readLinkSettings(context.environment));
  if (signIn.signUp.mode === 'closed')
    throw new CliError('sign-up is closed, also for invited people; set SIGN_UP=invited to admit them');
  const invitations = await withDatabase(context, async (pool) => {
    const made = [];
    for (const email of emails)
      made.push({
        hasAccount: await hasSignedUp(pool, email),
        ...(await inviteToSignUp(pool, { email, actor: commandLine }, Date.now())),
      });
    return made;
  });
  for (const { email, expires_at, hasAccount } of invitations)
    context.out(
      hasAccount
        ? `${email} has an account already; any workspace can invite it until ${expires_at}`
        : `${email} can sign up at ${origin}/sign-up until ${expires_at}`,
    );
  if (signIn.smtp === undefined) return;
  const unmailed = invitations.filter(({ hasAccount }) => !hasAccount);
  for (const [at, invitation] of unmailed.entries())
    await mailNow(signIn.smtp, origin, signUpInvitationMail(origin, invitation), 'address').catch((error: unknown) => {
      const left = unmailed.slice(at).map(({ email }) => email);
      throw error instanceof CliError ? new CliError(`${error.message}. Not mailed: ${left.join(', ')}`) : error;
    });
}

/**
 * Reads addresses as people keep them: several on a line, with commas, semicolons or spaces between, or as `Ann <ann@example.com>`. A
 * line that begins with `#` is a comment.
 */
const addressesOf = (text: string): string[] =>
  text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trimStart().startsWith('#')) return [];
    // A quoted name may have a comma.
    const parts = line.replace(/"[^"]*"/g, '').split(/[,;]/);
    const addresses = parts.flatMap((part) => /<([^<>]*)>\s*$/.exec(part)?.[1] ?? part.split(/\s+/));
    return addresses.filter((address) => address !== '').map((address) => addressOn(index + 1, address));
  });

function addressOn(line: number, address: string): string {
  try {
    return readAddress(address);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`line ${line}: ${error.message}`) : error;
  }
}

/** Prints who may sign up, and the open invitations of operators. */
export async function signUpShow(context: CliProcess): Promise<void> {
  const { mode, domains } = required(readLinkSettings(context.environment)).signIn.signUp;
  await withDatabase(context, async (pool) => {
    context.out(mode);
    if (domains.length > 0) context.out(`domains: ${domains.join(', ')}`);
    for (const { email, expires_at } of await listSignUpInvitations(pool, Date.now()))
      context.out(`invited: ${email}  until ${expires_at}`);
  });
}
