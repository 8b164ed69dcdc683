import type { WorkspaceRole } from '@sotto/wire';
import type { Mail } from '../mail/mail.ts';

/** The mail that carries an invitation's token, as such and in a link, behind `#`, which no server sees. What people named is cut to one line. */
export function invitationMail(invitation: {
  readonly email: string;
  readonly role: WorkspaceRole;
  readonly token: string;
  readonly expires_at: string;
  readonly workspace: string;
  readonly invitedBy: string;
  /** The public control origin. */
  readonly origin: string;
}): Mail {
  const workspace = invitation.workspace.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  return {
    to: invitation.email,
    subject: `You are invited to the workspace "${workspace}"`,
    text: [
      `${invitation.invitedBy} invites you to the workspace "${workspace}" as ${invitation.role}.`,
      ...(invitation.role === 'owner' ? ['If you accept, your balance pays for what it uses from then on.'] : []),
      `Sign in or sign up with this address, and accept until ${invitation.expires_at}:`,
      `${invitation.origin}/invitations#token=${invitation.token}`,
      'By a program, with this token:',
      invitation.token,
      'If you did not expect this, there is nothing to do.',
    ].join('\n'),
  };
}
