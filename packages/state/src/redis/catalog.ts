import { type RegistryPublic, registryPublicSchema } from '@sotto/router';
import type { CatalogPort } from '../ports.ts';
import { catalogSnapshotSchema } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { readJson } from './read-json.ts';
import type { ScriptRunner } from './script-runner.ts';

const catalogKey = 'sotto:catalog';
const registryKey = 'sotto:registry';

export function redisCatalog(runner: ScriptRunner): CatalogPort {
  return {
    async publishCatalog(snapshot) {
      await runner.run('publishCatalog', catalogKey, [snapshot.version, JSON.stringify(snapshot)]);
    },

    async readCatalog(knownVersion) {
      const version = await runner.plain((redis) => redis.hget(catalogKey, 'version'));
      if (version === null || Number(version) <= knownVersion) return undefined;
      const text = await runner.plain((redis) => redis.hget(catalogKey, 'snapshot'));
      const snapshot = readJson(text, catalogSnapshotSchema);
      if (snapshot === undefined) throw new StateUnavailableError('unreadable catalog');
      return snapshot;
    },

    async publishRegistry(registry: RegistryPublic) {
      await runner.plain((redis) => redis.set(registryKey, JSON.stringify(registry)));
    },

    async readRegistry() {
      const text = await runner.plain((redis) => redis.get(registryKey));
      if (text === null) return undefined;
      const registry = readJson(text, registryPublicSchema);
      if (registry === undefined) throw new StateUnavailableError('unreadable registry');
      return registry;
    },
  };
}
