import { readFileSync } from 'node:fs';
import { readConfig as readBrokerConfig } from '@sotto/confidential';
import { readConfig as readControlConfig } from '@sotto/control';
import { withSecretFiles } from '@sotto/settings';

/** The variables that the README speaks of under "Settings". */
const [, settings = ''] =
  /\n## Settings\n(.*?)\n## /s.exec(readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')) ?? [];
const documented = new Set(settings.match(/\b[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*\b/g));

/** What may be in the files of secrets. */
const contents: Readonly<Record<string, string>> = {
  'database-url': 'postgresql://sotto:x@postgres:5432/sotto',
  'redis-url': 'redis://:x@redis:6379',
  'broker-redis-url': 'redis://broker:x@redis:6379',
};

/**
 * Reads the environment that a deployment gives a plane as the plane does; answers what is wrong with it, or undefined. A
 * name that nobody knows is wrong, too: it would be without effect.
 */
export function problemOf(
  plane: 'control' | 'broker',
  environment: Readonly<Record<string, string>>,
): string | undefined {
  const given = withSecretFiles(environment, (path) => {
    const name = path.slice(path.lastIndexOf('/') + 1).replaceAll('_', '-');
    return contents[name] ?? 'A'.repeat(43);
  });
  if (!given.ok) return given.message;
  const config = (plane === 'control' ? readControlConfig : readBrokerConfig)(given.settings);
  if (!config.ok) return config.message;
  const unknown = Object.entries(given.settings).filter(([name, value]) => value !== '' && !documented.has(name));
  return unknown.length > 0 ? `the README knows no ${unknown.map(([name]) => name).join(', ')}` : undefined;
}
