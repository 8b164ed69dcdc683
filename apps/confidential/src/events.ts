import type { AttemptOutcome, DroppedRoute } from '@sotto/router';
import { type ErrorTrace, limitChanges, limitRepeats } from '@sotto/server';
import { adviceOnTrouble } from '@sotto/state';
import { ownSecretProblem } from '@sotto/wire';
import type { Logger } from 'pino';

/**
 * Everything that the broker logs: allow-listed fields, one line per request and one per failed attempt. It never logs
 * content.
 */
export function brokerEvents(logger: Logger) {
  const limited = limitRepeats(logger);
  return {
    request: (fields: {
      readonly requestId: string;
      readonly operation: string;
      readonly status: number;
      readonly error?: string | undefined;
      readonly route?: string | undefined;
      readonly attempts: number;
      readonly durationMs: number;
    }) => logger.info(fields, 'request'),
    refused: (fields: {
      readonly requestId: string;
      readonly operation: string;
      readonly status: number;
      readonly error: string;
    }) => logger.info(fields, 'request refused'),
    /** Requests of the last second that were rejected on arrival, because more came than could be served. */
    shed: (fields: { readonly requests: number }) => logger.warn(fields, 'requests shed'),
    tracesLost: (fields: { readonly spans: number }) => logger.warn(fields, 'traces lost'),
    /** The line advises what to do about the provider's key, by the environment variable that holds it. */
    attemptFailed: ({
      provider,
      variable,
      ...fields
    }: {
      readonly requestId: string;
      readonly route: string;
      readonly provider: string;
      readonly variable: string | undefined;
      readonly outcome: AttemptOutcome;
    }) => {
      const advice = adviceOn(fields.outcome, provider, variable);
      logger.warn(fields, advice === undefined ? 'attempt failed' : `attempt failed: ${advice}`);
    },
    /**
     * A provider of the registry cannot be called, because this broker has no key for it. `hasOwnSecret`: the variable
     * holds a key of Sotto itself.
     */
    providerWithoutKey: ({
      provider,
      variable,
      hasOwnSecret,
    }: {
      readonly provider: string;
      readonly variable: string;
      readonly hasOwnSecret: boolean;
    }) =>
      hasOwnSecret
        ? logger.warn({ provider, variable }, `\`${provider}\` has no key: ${variable} ${ownSecretProblem}`)
        : logger.info({ provider, variable }, `\`${provider}\` has no key: set ${variable}`),
    /** A provider refused one of its keys. Calls use the other ones for a while. */
    keySetAside: (fields: { readonly provider: string; readonly variable: string; readonly outcome: AttemptOutcome }) =>
      logger.warn(fields, 'key set aside'),
    /** The broker read its keys and its registry again (SIGHUP). */
    reloaded: (fields: { readonly providers: number }) => logger.info(fields, 'reloaded'),
    /** The same, but something is wrong, so the previous keys and registry stay in use. */
    reloadRefused: (fields: { readonly problem: string }) => logger.error(fields, 'reload refused'),
    /** A provider's `tee` routes cannot be served with its present registry entry. */
    teeRefused: (fields: { readonly provider: string; readonly reason: string }) =>
      logger.warn(fields, 'tee routes are refused'),
    /** An enclave got no content. Logs the checks that did not pass, and why; of the evidence, only digests and names. */
    enclaveRefused: (fields: {
      readonly route: string;
      readonly verdict: string;
      readonly checks: readonly { readonly name: string; readonly reason: string }[];
    }) => logger.error(fields, 'enclave refused'),
    /** An enclave could not be judged, because its evidence could not be obtained or verified. */
    enclaveUnknown: (fields: { readonly route: string; readonly reason: string }) =>
      logger.warn(fields, 'no evidence of an enclave'),
    /** A provider without TLS got no content, because its address is not in a private network. */
    addressRefused: (fields: { readonly provider: string }) =>
      logger.error(fields, 'address of a provider without TLS refused'),
    routesDropped: (routes: readonly DroppedRoute[]) =>
      logger.warn(
        { routes: routes.map((route) => `${route.modelId}@${route.providerId}: ${route.reason}`) },
        'catalog routes dropped',
      ),
    excess: ({ route, excessNusd }: { readonly route: string; readonly excessNusd: bigint }) =>
      logger.error({ route, excessNusd: excessNusd.toString() }, 'cost above its hold'),
    settlementDelayed: (fields: { readonly pending: number }) => logger.warn(fields, 'settlements waiting'),
    /** Charges that the state had not accepted when this broker had to stop. Their answers are free. */
    settlementsLost: (fields: { readonly settlements: number }) => logger.error(fields, 'settlements lost at the end'),
    /** Cancelled holds in this broker's name that it did not know. */
    strays: (fields: { readonly holds: number }) => logger.error(fields, 'stray holds cancelled'),
    /** The broker's Redis user can read control's keys. */
    redisExposed: () =>
      logger.warn(
        {
          fix: 'make a user with deploy/redis/acl-user.sh and put it into REDIS_URL (docs/operate/systemd.md#redis-users)',
        },
        "Redis lets this broker's user read control's keys",
      ),
    /** The broker's Redis user lacks a permission that the broker needs. */
    redisDenied: () =>
      logger.error({ cause: 'NOPERM', fix: adviceOnTrouble('NOPERM') }, "Redis refuses this broker's user a command"),
    /** The connection to Redis: the cause when it fails, such as `WRONGPASS`; undefined when it works again. */
    redisConnection: limitChanges((cause: string | undefined) =>
      cause === undefined
        ? logger.info('connected to Redis')
        : logger.error({ cause, fix: adviceOnTrouble(cause) }, 'no connection to Redis'),
    ),
    /** Redis can lose what it acknowledged, so the broker is not ready. */
    redisVolatile: ({ problem }: { readonly problem: string }) => limited('error', problem, { problem }, 'not ready'),
    /** The machine gave no evidence about this broker. */
    attestationFailed: (fields: { readonly producer: string; readonly code: string }) =>
      logger.error(fields, 'attestation failed'),
    /** A vendor's document that evidence carries expires soon and could not be renewed. `until` is Unix ms. */
    collateralExpiring: (document: string, until: number) =>
      logger.error({ document, until: new Date(until).toISOString() }, 'collateral ends soon'),
    /** The keeper has not released the secrets yet, and why. Without them this broker does not start. */
    secretsAwaited: (fields: { readonly reason: string }) => logger.warn(fields, 'waiting for secrets'),
    secretsReleased: (fields: { readonly secrets: number }) => logger.info(fields, 'secrets released'),
    unexpected: (error: ErrorTrace, requestId: string) => logger.error({ ...error, requestId }, 'unexpected error'),
    /** The broker has the catalog and its leases, and requests are admitted from here on. */
    serving: (fields: { readonly port: number; readonly providers: number; readonly models: number }) =>
      logger.info(fields, 'serving'),
    lifecycle: (state: 'draining' | 'stopped') => logger.info(state),
  };
}

export type BrokerEvents = ReturnType<typeof brokerEvents>;

/** Advises the operator about a failed attempt. Undefined where the provider itself is at fault. */
function adviceOn(outcome: AttemptOutcome, provider: string, variable: string | undefined): string | undefined {
  const key = variable === undefined ? 'a request without a key: name one in `api_key_env`' : `the key in ${variable}`;
  switch (outcome) {
    case 'authentication_failed':
      return `\`${provider}\` refused ${key} (401)${variable === undefined ? '' : '; set a valid one, and start again'}`;
    case 'invalid_request':
      return `\`${provider}\` refused the request as invalid (400); if only requests with tools fail, the route claims \`tools\` wrongly`;
    case 'quota_exhausted':
      return `\`${provider}\` says that the account of ${variable === undefined ? 'this broker' : key} has no balance left (402)`;
    case 'model_unavailable':
      return `\`${provider}\` does not know the model of this route (404); check \`upstream_model\` in the catalog and \`base_url\` in the registry`;
    default:
      return undefined;
  }
}
