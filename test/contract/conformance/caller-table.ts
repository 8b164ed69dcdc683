import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';

/**
 * Every caller: no session, keys, sessions of other accounts and of operators, and each role in one workspace of the
 * owner.
 */
export const callers = [
  'nobody',
  'an inference key',
  'a management key',
  'an ended session',
  'another account',
  "another workspace's member",
  'an operator without a fresh second factor',
  'an operator',
  'viewer',
  'member',
  'admin',
  'owner',
] as const;
export type Caller = (typeof callers)[number];

const withKey: readonly Caller[] = ['an inference key', 'a management key'];
const withoutSession: readonly Caller[] = ['nobody', ...withKey, 'an ended session'];
export const operators: readonly Caller[] = ['an operator without a fresh second factor', 'an operator'];
/** The role of an operator opens no workspace. */
const strangers: readonly Caller[] = ['another account', "another workspace's member", ...operators];
const roles: readonly Caller[] = ['viewer', 'member', 'admin', 'owner'];

/** The expected status by caller. */
type Expected = Readonly<Record<Caller, number>>;

const expectedOf = (status: (caller: Caller) => number): Expected =>
  Object.fromEntries(
    callers.map((caller) => [
      caller,
      withKey.includes(caller) ? 403 : withoutSession.includes(caller) ? 401 : status(caller),
    ]),
  ) as Expected;

/**
 * For a route of a workspace: members from the role `weakest` up get `ok`. Non-members get 404, which hides the
 * workspace.
 */
export const inWorkspace = (weakest: WorkspaceRole, ok: number): Expected =>
  expectedOf((caller) => {
    if (strangers.includes(caller)) return 404;
    return roles.indexOf(caller) >= roles.indexOf(weakest) ? ok : 403;
  });
/** Every caller gets the same status. */
export const everybody = (status: number): Expected =>
  Object.fromEntries(callers.map((caller) => [caller, status])) as Expected;
/** For a route about the caller's own account: every session gets `ok`. */
export const aboutOneself = (ok: number): Expected => expectedOf(() => ok);
/** For a route that changes the caller's second factors: operators must have shown one. */
export const ofFactors = (ok: number): Expected =>
  expectedOf((caller) => (caller === 'an operator without a fresh second factor' ? 403 : ok));
/** For a route about the owner's account, which is hidden even from admins of its workspaces. */
export const ofTheOwner = (ok: number): Expected => expectedOf((caller) => (caller === 'owner' ? ok : 404));
/** For a route of operators: other sessions get 404, which hides the role. Acts need a fresh second factor. */
export const ofOperators = (route: string, ok: number): Expected =>
  expectedOf((caller) => {
    if (!operators.includes(caller)) return 404;
    return caller === 'an operator' || route.startsWith('GET ') ? ok : 403;
  });
/** Like `expected`, but a management key of the account can read it, and an inference key gets 403. */
export const orManagementKey = (expected: Expected): Expected => ({
  ...expected,
  'an inference key': 403,
  'a management key': 200,
});

export interface Row {
  /** The name of the route in the OpenAPI description. */
  readonly route: string;
  readonly expected: Expected;
  /** Distinguishes several rows of one route. */
  readonly what?: string;
  /** The owner prepares this for a single call. It is the last parameter of the path, unless `body` uses it. */
  readonly prepare?: (caller: Caller) => Promise<string>;
  /** Default: `{}` for a POST, otherwise none. */
  readonly body?: object | ((prepared: string) => object);
  /** The query names the workspace. */
  readonly inWorkspace?: true;
  /** The call ends its own session, so it needs a fresh one. */
  readonly inFreshSession?: true;
}

export const row = (route: string, expected: Expected, more: Omit<Row, 'route' | 'expected'> = {}): Row => ({
  route,
  expected,
  ...more,
});
