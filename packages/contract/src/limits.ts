/** A rate limit: a multiple of a setting in a window of time, counted by something. */
export interface RateLimit {
  readonly setting: 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_CONTROL';
  readonly factor: number;
  readonly window: 'minute' | 'quarter of an hour' | 'hour';
  /** Completes "counted by". */
  readonly by: string;
}

const control = (share: number, window: RateLimit['window'], by: string): RateLimit => ({
  setting: 'RATE_LIMIT_CONTROL',
  factor: 1 / share,
  window,
  by,
});

const both = 'address and account together';
const account = 'account';
const device = 'known device, instead of address and account';

/**
 * The rate limits besides the one of every route, which is `RATE_LIMIT_CONTROL` a minute by account or address. Limiters take their
 * numbers from here, and so do the descriptions of the routes.
 */
export const rateLimits = {
  inference: { setting: 'RATE_LIMIT_REQUESTS', factor: 1, window: 'minute', by: 'key' },
  minting: { setting: 'RATE_LIMIT_REQUESTS', factor: 2, window: 'minute', by: 'key' },
  /** A mail or a request to an address that did not ask for it. */
  outgoing: control(20, 'minute', account),
  invitation: control(120, 'quarter of an hour', 'invited address'),
  /** Requests with a password, code, token or key that an attacker might guess. */
  guess: control(10, 'minute', 'address, unless a session or a known device is shown'),
  /** Requests that send a mail to an address in the request. */
  mail: control(20, 'minute', 'address'),
  /** Requests with the password of the user who is signed in. */
  password: control(60, 'minute', account),
  /** Requests with a code of the second factor. After sign-in, better-auth does not lock it. */
  code: control(20, 'hour', account),
  signIn: control(60, 'minute', both),
  signInHour: control(30, 'hour', both),
  // So low that an attacker with many addresses cannot guess a password either.
  signInAccount: control(6, 'hour', account),
  signInDevice: control(20, 'hour', device),
  // Separate from other mail: an attacker who uses up this limit has sent the owner links to set a password.
  reset: control(200, 'hour', both),
  resetAccount: control(120, 'quarter of an hour', account),
  resetDevice: control(200, 'quarter of an hour', device),
  otherMail: control(200, 'hour', both),
  otherMailAccount: control(120, 'quarter of an hour', account),
} as const satisfies Readonly<Record<string, RateLimit>>;

export type RateLimitName = keyof typeof rateLimits;

const minuteMs = 60_000;
const windowsMs = { minute: minuteMs, 'quarter of an hour': 15 * minuteMs, hour: 60 * minuteMs } as const;

/** Returns the numbers of a limit under the value of its setting. */
export const limitOf = (name: RateLimitName, setting: number): { readonly max: number; readonly windowMs: number } => {
  const { factor, window } = rateLimits[name];
  return { max: Math.ceil(setting * factor), windowMs: windowsMs[window] };
};

export function describeLimits(names: readonly RateLimitName[]): string {
  const each = names.map((name) => {
    const { setting, factor, window, by }: RateLimit = rateLimits[name];
    const part = factor === 1 ? '' : factor > 1 ? ` × ${factor}` : ` ÷ ${Math.round(1 / factor)}`;
    return `\`${setting}\`${part} a ${window}, counted by ${by}`;
  });
  return `Limit${each.length === 1 ? '' : 's'} by the operator's settings: ${each.join('; ')}.`;
}
