import { queryOptions } from '@tanstack/react-query';
import { call, callAll } from '../../api/call.ts';

/** The invitations to the user's address. */
export const waitingInvitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal }) => callAll('GET /v1/invitations', { signal }),
});

/** The invitation of a link, by its token. */
export const offerQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitations', 'offer', token],
    queryFn: ({ signal }) => call('POST /v1/invitations/read', { body: { token }, signal }),
    retry: false,
  });

/** An invitation by its link, or by its place in the list. */
export type Answered = { readonly token: string } | { readonly id: string };

/** Who invites to which workspace, for a person who is not signed in. */
export const previewQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitations', 'preview', token],
    queryFn: ({ signal }) => call('POST /v1/invitations/preview', { body: { token }, signal }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const acceptInvitation = (by: Answered) =>
  'id' in by
    ? call('POST /v1/invitations/{id}/accept', { params: by })
    : call('POST /v1/invitations/accept', { body: by });

export const declineInvitation = (by: Answered) =>
  'id' in by
    ? call('POST /v1/invitations/{id}/decline', { params: by })
    : call('POST /v1/invitations/decline', { body: by });
