import type { InvitationOfferAnswer, WaitingInvitationAnswer, WorkspaceAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

/** What waits for the address of whoever is signed in. */
export const waitingInvitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) =>
    (await call<{ data: readonly WaitingInvitationAnswer[] }>('/invitations', { signal })).data,
});

/** What the token of a link is good for. */
export const offerQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitations', 'offer', token],
    queryFn: ({ signal }) =>
      call<InvitationOfferAnswer>('/invitations/read', { method: 'POST', body: { token }, signal }),
    retry: false,
  });

/** An invitation by its link, or by its place in the list. */
export type Answered = { readonly token: string } | { readonly id: string };

const pathOf = (invitation: Answered, answer: string): string =>
  'id' in invitation ? `/invitations/${invitation.id}/${answer}` : `/invitations/${answer}`;
const bodyOf = (invitation: Answered): object => ('id' in invitation ? {} : { token: invitation.token });

export const acceptInvitation = (invitation: Answered): Promise<WorkspaceAnswer> =>
  call(pathOf(invitation, 'accept'), { method: 'POST', body: bodyOf(invitation) });

export const declineInvitation = (invitation: Answered): Promise<void> =>
  call(pathOf(invitation, 'decline'), { method: 'POST', body: bodyOf(invitation) });
