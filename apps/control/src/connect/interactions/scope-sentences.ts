import type { AppScope } from '@sotto/wire';

/** What each scope lets an app do, for the person who is asked. */
export const scopeSentences = {
  openid: 'Know you by a name that is made for this app alone.',
  email: 'See your email address.',
  inference: 'Send requests to models and spend from the balance of the workspace, up to the limit that you set.',
  'usage:read': 'See the usage of the workspace and, where it is yours, your balance.',
} as const satisfies Record<AppScope, string>;
