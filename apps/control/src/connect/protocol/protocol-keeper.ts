import type { ControlEvents } from '../../events.ts';
import type { SessionSecrets } from '../../sessions/session-secrets.ts';
import { purgeKeys, readKeys } from './key-store.ts';
import { buildProtocol, type Protocol, type ProviderDependencies } from './provider.ts';

export interface ProtocolKeeperDependencies extends Omit<ProviderDependencies, 'onFailure'> {
  readonly sessionSecrets: SessionSecrets;
  readonly events: Pick<ControlEvents, 'connectFailed'>;
  readonly now: () => number;
}

/** Has the protocol ready, with the keys that are in force; all processes have the same ones from Postgres. */
export class ProtocolKeeper {
  readonly #deps: ProtocolKeeperDependencies;
  #current: { readonly fingerprint: string; readonly protocol: Protocol } | undefined;

  constructor(deps: ProtocolKeeperDependencies) {
    this.#deps = deps;
  }

  /** Throws where it was never built and the database cannot be asked. */
  async protocol(): Promise<Protocol> {
    return this.#current?.protocol ?? this.refresh();
  }

  /** Looks for keys that are new or due, and goes on with them. */
  async refresh(): Promise<Protocol> {
    const { pool, sessionSecrets, events, now } = this.#deps;
    const keys = await readKeys(pool, sessionSecrets, now());
    if (this.#current?.fingerprint === keys.fingerprint) return this.#current.protocol;
    const onFailure = (error: unknown): void => events.connectFailed(error);
    const protocol = await buildProtocol({ ...this.#deps, onFailure }, keys);
    this.#current = { fingerprint: keys.fingerprint, protocol };
    return protocol;
  }

  async purge(): Promise<void> {
    await purgeKeys(this.#deps.pool, this.#deps.sessionSecrets, this.#deps.now());
  }
}
