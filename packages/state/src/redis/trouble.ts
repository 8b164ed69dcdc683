import type { RedisConnection } from './connection.ts';

/**
 * Names why a connection to Redis does not come about: the first word of Redis' refusal, such as `WRONGPASS` or `NOAUTH`, or the code
 * of the network, such as `ECONNREFUSED`. The rest of a message may quote an address or stored data.
 */
export function causeOfTrouble(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  // A cluster's client reports that no node could be asked, with the error of the last one.
  if ('lastNodeError' in error && error.lastNodeError instanceof Error) return causeOfTrouble(error.lastNodeError);
  const [word] = /^[A-Z]{3,16}\b/.exec(error.message) ?? [];
  if (error.name === 'ReplyError' && word !== undefined) return word;
  return 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
}

/** Advises what to do about a cause of `causeOfTrouble`, as a part of a sentence. */
export function adviceOnTrouble(cause: string): string {
  switch (cause) {
    case 'WRONGPASS':
      return 'correct the user and the password in REDIS_URL';
    case 'NOAUTH':
      return 'put a password into REDIS_URL: this Redis asks for one';
    case 'LOADING':
      return 'wait: Redis reads its data from disk';
    case 'NOPERM':
      return 'make the user of REDIS_URL anew with deploy/redis/acl-user.sh; `ACL LOG` names the command';
    default:
      return 'check REDIS_URL, and that the server accepts connections from this machine';
  }
}

/** Whether Redis refuses this client, so that waiting does not help. */
export const isRejected = (cause: string): boolean => ['WRONGPASS', 'NOAUTH', 'NOPERM'].includes(cause);

/** Follows a connection. Calls `onChange` with the cause when it fails or fails otherwise, and with undefined when it works again. */
export function followTrouble(
  connection: RedisConnection,
  onChange: (cause: string | undefined) => void,
): { readonly cause: string | undefined } {
  let cause: string | undefined;
  const change = (next: string | undefined): void => {
    if (next === cause) return;
    cause = next;
    onChange(next);
  };
  connection.on('error', (error: unknown) => change(causeOfTrouble(error)));
  connection.on('ready', () => change(undefined));
  return {
    get cause() {
      return cause;
    },
  };
}
