import { expect, it } from 'vitest';
import { Authenticator, totpCode } from '../../kit/authenticator.ts';
import { cookieOf, type DescribedService, example, freshEmail } from './described-service.ts';

/** Tests of the operations by which people sign up, sign in and share workspaces. */
export function describePeople(stage: DescribedService): void {
  const { toControl, asOwner, owner, exampleOf, quickstart, signUp, signIn, printedToken } = stage;

  it('shares workspaces', async () => {
    const person = await signUp();
    const guest = await signIn(person);
    const name = exampleOf('control', 'createWorkspace');
    const { id } = (await asOwner('createWorkspace', 201, { body: name })).json as { id: string };
    const parameters = { id };
    await asOwner('createWorkspace', 400, { body: {} });
    await asOwner('renameWorkspace', 200, { parameters, body: example });
    await toControl('renameWorkspace', 404, { headers: guest, parameters, body: name });
    const invite = async (role: string) => {
      const body = { ...exampleOf('control', 'createInvitation'), email: person.email, role };
      const { json } = await asOwner('createInvitation', 201, { parameters, body });
      return json as { id: string; token: string };
    };
    const budget = await asOwner('setBudget', 200, { parameters, body: exampleOf('control', 'setBudget') });
    await asOwner('setBudget', 400, { parameters, body: { limit_usd: -1 } });
    await asOwner('setBudget', 400, { parameters, body: { limit_usd: 5, tag: 'R&D', key_id: id } });
    await asOwner('setBudget', 200, { parameters, body: { limit_usd: 5, tag: 'R&D' } });
    await asOwner('listBudgets', 200, { parameters });
    await toControl('listBudgets', 404, { headers: guest, parameters });
    const { id: budgetId } = budget.json as { id: string };
    await asOwner('removeBudget', 204, { parameters: { id, budgetId } });
    await asOwner('removeBudget', 404, { parameters: { id, budgetId } });
    await asOwner('getBudgetSettings', 200, { parameters });
    await asOwner('setBudgetSettings', 200, { parameters, body: exampleOf('control', 'setBudgetSettings') });
    await asOwner('setBudgetSettings', 400, { parameters, body: { alert_percents: [0], member_budget_usd: 1 } });
    await toControl('getBudgetSettings', 404, { headers: guest, parameters });
    const policy = { allowed_models: null, max_key_limit_usd: 50, max_key_days: 90, openai_compatible: true };
    await asOwner('setWorkspacePolicy', 200, { parameters, body: policy });
    await asOwner('setWorkspacePolicy', 400, { parameters, body: { ...policy, allowed_models: ['nothing/*'] } });
    await asOwner('getWorkspacePolicy', 200, { parameters });
    await toControl('getWorkspacePolicy', 404, { headers: guest, parameters });
    const webhook = { body: { url: 'https://127.0.0.1:9/' }, parameters };
    await asOwner('setWebhook', 200, webhook);
    await asOwner('setWebhook', 400, { parameters, body: { url: 'http://127.0.0.1:9/' } });
    await asOwner('getWebhook', 200, { parameters });
    await asOwner('testWebhook', 200, { parameters, body: {} });
    await toControl('getWebhook', 404, { headers: guest, parameters });
    await toControl('testWebhook', 404, { headers: guest, parameters, body: {} });
    await asOwner('removeWebhook', 204, { parameters });
    await asOwner('removeWebhook', 404, { parameters });
    await asOwner('testWebhook', 404, { parameters, body: {} });
    const first = await invite('member');
    await asOwner('createInvitation', 400, { parameters, body: { email: 'nobody', role: 'member' } });
    await asOwner('listInvitations', 200, { parameters });
    await toControl('listInvitations', 404, { headers: guest, parameters });
    const withdraw = { headers: owner(), parameters: { id, invitationId: first.id } };
    await toControl('withdrawInvitation', 204, withdraw);
    await toControl('withdrawInvitation', 404, withdraw);
    await toControl('declineInvitation', 204, { headers: guest, body: { token: (await invite('member')).token } });
    const { token } = await invite('member');
    await asOwner('readInvitation', 403, { body: { token } });
    await toControl('readInvitation', 200, { headers: guest, body: { token } });
    await toControl('previewInvitation', 200, { body: { token } });
    await toControl('previewInvitation', 404, { body: exampleOf('control', 'previewInvitation') });
    await toControl('acceptInvitation', 200, { headers: guest, body: { token } });
    for (const answered of ['readInvitation', 'acceptInvitation', 'declineInvitation']) {
      await toControl(answered, 404, { headers: guest, body: exampleOf('control', answered) });
    }
    const { json } = await asOwner('listMembers', 200, { parameters });
    await toControl('listMembers', 401, { parameters });
    const { data } = json as { data: { account_id: string; role: string }[] };
    const memberId = data.find(({ role }) => role === 'member')?.account_id ?? '';
    const member = { headers: owner(), parameters: { id, memberId } };
    await toControl('changeMemberRole', 200, { ...member, body: example });
    await toControl('changeMemberRole', 403, { ...member, headers: guest, body: { role: 'admin' } });
    await asOwner('listKeys', 200, { query: `?workspace_id=${id}` });
    await toControl('removeMember', 204, member);
    await toControl('removeMember', 404, member);
    await asOwner('deleteWorkspace', 204, { parameters });
    await asOwner('deleteWorkspace', 404, { parameters });
  });

  it('verifies addresses, changes them, and resets passwords', async () => {
    const person = await signUp();
    const { password } = person;
    const session = await signIn(person);
    await toControl('listWaitingInvitations', 403, { headers: session });
    await toControl('beginPasskeyRegistration', 403, { headers: session });
    await toControl('enableSecondFactor', 403, { headers: session, body: { password } });
    await toControl('verifyEmail', 400, { body: example });
    const verify = await printedToken(person.email, '/verify-email');
    await toControl('verifyEmail', 401, { body: { token: verify, password: 'not it' } });
    await toControl('verifyEmail', 200, { body: { token: verify, password } });
    await toControl('sendVerificationEmail', 200, { body: { email: person.email } });
    await toControl('sendVerificationEmail', 400, { body: { email: 'nobody' } });

    const newEmail = freshEmail();
    await toControl('changeEmail', 400, { headers: session, body: { newEmail, password: 'not it' } });
    await toControl('changeEmail', 401, { body: example });
    await toControl('changeEmail', 200, { headers: session, body: { newEmail, password } });
    const token = await printedToken(newEmail, '/verify-email');
    await toControl('verifyEmail', 200, { headers: session, body: { token } });

    await toControl('requestPasswordReset', 200, { body: { email: newEmail } });
    await toControl('requestPasswordReset', 400, { body: {} });
    await toControl('resetPassword', 400, { body: example });
    const newPassword = 'staple battery horse';
    const body = { token: await printedToken(newEmail, '/reset-password'), newPassword };
    await toControl('resetPassword', 200, { body });
    const again = await signIn({ email: newEmail, password: newPassword });

    await toControl('updateUser', 200, { headers: again, body: example });
    await toControl('updateUser', 400, { headers: again, body: { emailVerified: true } });
    await toControl('listSignInWays', 200, { headers: again });
    await toControl('listSignInWays', 401);
    await toControl('listSignInMethods', 200);

    const name = exampleOf('control', 'createWorkspace');
    const { id } = (await asOwner('createWorkspace', 201, { body: name })).json as { id: string };
    for (const [answer, status] of [
      ['declineWaitingInvitation', 204],
      ['acceptWaitingInvitation', 200],
    ] as const) {
      const offered = { email: newEmail, role: 'member' };
      await asOwner('createInvitation', 201, { parameters: { id }, body: offered });
      const { json } = await toControl('listWaitingInvitations', 200, { headers: again });
      const [waiting] = (json as { data: { id: string }[] }).data;
      const asked = { headers: again, parameters: { id: waiting?.id ?? '' }, body: {} };
      await toControl(answer, status, asked);
      await toControl(answer, 404, asked);
    }

    const leaving = { email: newEmail, password: newPassword };
    await toControl('deleteAccount', 401, { body: leaving });
    await toControl('deleteAccount', 400, { headers: again, body: { ...leaving, password: 'not it' } });
    await toControl('deleteAccount', 200, { headers: again, body: leaving });
  });

  it('asks for a second factor, and takes passkeys', async () => {
    const person = await signUp();
    const { password } = person;
    const token = await printedToken(person.email, '/verify-email');
    let session = cookieOf(await toControl('verifyEmail', 200, { body: { token, password } }));

    await toControl('beginPasskeyRegistration', 401);
    await toControl('beginPasskeyRegistration', 403, { headers: session });
    await toControl('confirmPassword', 401, { body: { password } });
    await toControl('confirmPassword', 400, { headers: session, body: { password: 'not it' } });
    const confirmed = await toControl('confirmPassword', 200, { headers: session, body: { password } });
    const { confirmation } = confirmed.json as { confirmation: string };
    const { challenge } = (await toControl('beginPasskeyRegistration', 200, { headers: session })).json as {
      challenge: string;
    };
    await toControl('getPasskeyReview', 401);
    await toControl('getPasskeyReview', 200, { headers: session });
    await toControl('endPasskeyReview', 401, { body: {} });
    await toControl('endPasskeyReview', 200, { headers: session, body: {} });
    await toControl('registerPasskey', 401, { body: example });
    await toControl('registerPasskey', 403, { headers: session, body: example });
    const presence = { origin: new URL(quickstart().control_url).origin, rpId: 'localhost' };
    const key = new Authenticator();
    const withChallenge = async (id: string, headers: { cookie: string }) => {
      const answer = await toControl(id, 200, { headers });
      return {
        challenge: (answer.json as { challenge: string }).challenge,
        headers: { cookie: `${headers.cookie}; ${cookieOf(answer).cookie}` },
      };
    };
    expect(challenge.length).toBeGreaterThan(20);
    const begun = await withChallenge('beginPasskeyRegistration', session);
    const made = key.register(begun.challenge, presence);
    const added = await toControl('registerPasskey', 200, {
      headers: begun.headers,
      body: { response: made, confirmation },
    });
    const { id } = added.json as { id: string };
    await toControl('listPasskeys', 200, { headers: session });
    await toControl('listPasskeys', 401);
    const shown = await withChallenge('beginPasskeySignIn', { cookie: 'none=1' });
    const asserted = key.assert(shown.challenge, presence);
    await toControl('signInWithPasskey', 200, {
      headers: { cookie: shown.headers.cookie, origin: presence.origin },
      body: { response: asserted },
    });
    await toControl('signInWithPasskey', 400, { body: example });
    await toControl('renamePasskey', 200, { headers: session, body: { id, name: 'Phone' } });
    await toControl('renamePasskey', 404, { headers: session, body: example });
    await toControl('deletePasskey', 200, { headers: session, body: { id } });
    await toControl('deletePasskey', 404, { headers: session, body: { id } });

    await toControl('enableSecondFactor', 401, { body: { password } });
    const enabled = await toControl('enableSecondFactor', 200, { headers: session, body: { password } });
    const { totpURI } = enabled.json as { totpURI: string };
    await toControl('verifyTotp', 401, { headers: session, body: { code: '000000' } });
    const first = { code: totpCode(totpURI, Date.now()) };
    session = cookieOf(await toControl('verifyTotp', 200, { headers: session, body: first }));
    const codes = await toControl('generateBackupCodes', 200, { headers: session, body: { password } });
    await toControl('generateBackupCodes', 400, { headers: session, body: { password: 'not it' } });
    const half = await signIn(person);
    await toControl('verifyBackupCode', 401, { headers: half, body: example });
    const [code] = (codes.json as { backupCodes: string[] }).backupCodes;
    await toControl('verifyBackupCode', 200, { headers: half, body: { code } });
    await toControl('disableSecondFactor', 400, { headers: session, body: { password: 'not it' } });
    await toControl('disableSecondFactor', 200, { headers: session, body: { password } });

    await toControl('signInWithOpenid', 503, { body: example });
    await toControl('finishOpenidSignIn', 302, { parameters: { id: 'openid' }, query: '?code=x&state=y' });
  });

  it('signs users up, in and out', async () => {
    const person = await signUp();
    await toControl('signUp', 400, { body: { ...person, email: 'nobody' } });
    await toControl('signIn', 401, { body: { email: person.email, password: 'wrong' } });
    const session = await signIn(person);
    await signIn(person);
    await toControl('getSession', 200, { headers: session });
    await toControl('getSession', 200);
    await toControl('listSessions', 401);
    const { json } = await toControl('listSessions', 200, { headers: session });
    const [{ token } = { token: '' }] = json as { token: string }[];
    await toControl('changePassword', 200, { headers: session, body: example });
    await toControl('changePassword', 400, { headers: session, body: example });
    await toControl('revokeOtherSessions', 200, { headers: session, body: {} });
    const foreign = { ...session, origin: 'https://elsewhere.example' };
    await toControl('revokeOtherSessions', 403, { headers: foreign, body: {} });
    await toControl('revokeSession', 401, { body: { token } });
    await toControl('revokeSession', 200, { headers: session, body: { token: 'unknown' } });
    for (const id of ['revokeOtherSessions', 'revokeSessions']) await toControl(id, 401, { body: {} });
    await toControl('signOut', 403, { headers: foreign, body: {} });
    await toControl('revokeSessions', 200, { headers: session, body: {} });
    await toControl('signOut', 200, { headers: session, body: {} });
  });
}
