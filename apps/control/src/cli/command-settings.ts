import { type Environment, type LoadedSettings, loadSettings } from '@sotto/server';
import { findStart } from './running-start.ts';

/**
 * Loads the settings of a command: those of its environment and its `sotto.yaml`, over those of the service that `npm start` runs here.
 * A command with the database of another service gets nothing of `npm start`.
 */
export function settingsOfCommand(environment: Environment): LoadedSettings {
  const own = loadControlSettings(environment);
  if (!own.ok) return own;
  const start = findStart(environment, own.settings.DATABASE_URL);
  if (start === undefined) return { ...own, explain: (message) => withoutStart(own.explain(message)) };
  const isOwn = environment.CONFIG_FILE || start.configFile === undefined;
  const given = isOwn ? own : loadControlSettings({ ...environment, CONFIG_FILE: start.configFile });
  if (!given.ok) return given;
  // The start has resolved these, such as a port that the file leaves open. A variable of the command overrides them.
  const resolved = Object.entries(start.settings).filter(([name]) => !environment[name]);
  const settings = { ...given.settings, ...Object.fromEntries(resolved) };
  return { ...given, settings, explain: (message) => besideStart(given.explain(message)) };
}

/** Loads the settings of control that have a value. */
export function loadControlSettings(environment: Environment): LoadedSettings {
  const loaded = loadSettings({ plane: 'control', environment });
  if (!loaded.ok) return loaded;
  return { ...loaded, settings: Object.fromEntries(Object.entries(loaded.settings).filter(([, value]) => value)) };
}

const withoutStart = (message: string): string =>
  message.startsWith('DATABASE_URL is not set')
    ? `\`npm start\` does not run here, whose settings this command would take. Without it, ${message}`
    : message;

const besideStart = (message: string): string =>
  /^[A-Z_]+ is not set/.test(message)
    ? `${message}. \`npm start\` runs here, but commands do not see its environment: set the variable here, too`
    : message;
