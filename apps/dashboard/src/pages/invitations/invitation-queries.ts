import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

/** What waits for the address of whoever is signed in. */
export const waitingInvitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) => (await call('GET /v1/invitations', { signal })).data,
});

/** What the token of a link is good for. */
export const offerQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitations', 'offer', token],
    queryFn: ({ signal }) => call('POST /v1/invitations/read', { body: { token }, signal }),
    retry: false,
  });

/** An invitation by its link, or by its place in the list. */
export type Answered = { readonly token: string } | { readonly id: string };

export const acceptInvitation = (by: Answered) =>
  'id' in by
    ? call('POST /v1/invitations/{id}/accept', { params: by })
    : call('POST /v1/invitations/accept', { body: by });

export const declineInvitation = (by: Answered) =>
  'id' in by
    ? call('POST /v1/invitations/{id}/decline', { params: by })
    : call('POST /v1/invitations/decline', { body: by });
