import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  type ComposeFile,
  type ComposeService,
  composeWith,
  interpolated,
  readOwn,
  variables,
} from './compose-file.ts';
import { problemOf, problemsOfFile } from './installed-planes.ts';

const compose = composeWith(variables);
const { control, broker } = compose.services as { control: ComposeService; broker: ComposeService };
/** The names of the files of a service's secrets. */
const of = ({ secrets = [] }: ComposeService): string[] =>
  secrets.map((secret) => (typeof secret === 'string' ? secret : secret.target)).sort();

describe('docker-compose.yml', () => {
  const file = readOwn('deploy/compose/sotto.yaml');

  it('gives each plane settings that it accepts: the example, and everything in it enabled', async () => {
    const full = file
      .replace(/^ {2}tls:\n( {4}.*\n)+/m, '')
      .replace(/^( *)# (tls: .*)$/m, '$1$2')
      .replace(/^# mail:\n(#.*\n)+/m, (lines) => lines.replace(/^# ?/gm, ''))
      .replaceAll(/^# (\w+_file: .*)$/gm, '$1')
      .replaceAll(/^( {2}\w+): off$/gm, '$1: on')
      .replace('attestation: on', 'attestation: off');
    expect(full).toMatch(/^mail:$/m);
    expect(full).toMatch(/^ {2}tls: \{mode: files/m);
    for (const text of [file, full]) {
      expect(await problemsOfFile(text)).toBe('');
      const given: Record<string, string> = text === full ? { SMTP_URL: 'smtp://mail.example.com:587' } : {};
      expect(problemOf('control', { ...control.environment, ...given }, text)).toBeUndefined();
      expect(problemOf('broker', broker.environment ?? {}, text)).toBeUndefined();
    }
    expect(() => composeWith({})).toThrow('set it in .env');
  });

  it('mounts the folder of the settings, and every file that they name', () => {
    const { broker: settings, data, secrets } = parse(file);
    const isMounted = ({ volumes = [] }: ComposeService, path: string): boolean =>
      volumes.some((volume) => path.startsWith(`${volume.split(':')[1]}/`));
    for (const service of [control, broker])
      expect(isMounted(service, service.environment?.CONFIG_FILE ?? '')).toBe(true);
    for (const path of Object.values<string>(settings.tls)) expect(isMounted(broker, path), path).toBe(true);
    const named = { ...data, ...secrets } as Record<string, string>;
    expect(of(control)).toEqual(
      Object.values(named)
        .map((path) => path.replace('file:/run/secrets/', ''))
        .sort(),
    );
  });

  it('gives each service only its own secrets, as files', () => {
    expect(of(broker)).toEqual(['redis_url', 'settlement_mac_key', 'ticket_sealing_key']);
    expect(broker.secrets).toContainEqual({ source: 'broker_redis_url', target: 'redis_url' });
    expect(of(control)).toHaveLength(6);
    expect(JSON.stringify(control.secrets)).not.toContain('broker_redis_url');
    for (const [name, service] of Object.entries(compose.services)) {
      for (const secret of service.secrets ?? [])
        expect(compose.secrets, name).toHaveProperty(typeof secret === 'string' ? secret : secret.source);
      const inEnvironment = Object.entries(service.environment ?? {}).filter(
        ([key, value]) => /KEY$|SECRET$|PASSWORD$|(DATABASE|REDIS)_URL$/.test(key) && value !== '',
      );
      expect(inEnvironment, name).toEqual([]);
    }
  });

  it('lets the world reach only the balancer, and the broker reach no database', () => {
    const open = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
    expect(open.map(([name]) => name)).toEqual(['balancer']);
    const shares = (one: string, other: string): boolean =>
      compose.services[one]?.networks.some((network) => compose.services[other]?.networks.includes(network)) === true;
    expect(shares('broker', 'postgres')).toBe(false);
    expect(shares('broker', 'redis')).toBe(true);
    expect(shares('broker', 'control')).toBe(false);
    expect(shares('broker', 'caddy')).toBe(false);
    expect(shares('broker', 'balancer')).toBe(true);
    expect(shares('control', 'postgres')).toBe(true);
    expect(shares('caddy', 'redis')).toBe(false);
    for (const network of ['data', 'state', 'planes', 'edge']) expect(compose.networks[network]?.internal).toBe(true);
  });

  it('pins images that are not built here, starts in order of health, and gives services time to stop', () => {
    for (const [name, { image, build, depends_on: needs = {}, logging, deploy }] of Object.entries(compose.services)) {
      if (build === undefined) expect(image, name).toMatch(/^docker\.io\/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
      else expect(readOwn(build.dockerfile)).toContain('HEALTHCHECK');
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect(condition, `${name} needs ${needed}`).toBe('service_healthy');
        const service = compose.services[needed];
        expect(service?.healthcheck ?? service?.build, needed).toBeDefined();
      }
      expect(logging.options['max-size'], name).toBeDefined();
      expect(deploy.resources.limits.memory, name).toBeDefined();
    }
    // 5 s of drain delay, 30 s of ending streams, and the settlements after that.
    for (const plane of [control, broker])
      expect(Number.parseInt(plane.stop_grace_period ?? '0', 10)).toBeGreaterThanOrEqual(50);
  });

  it('keeps the broker’s key where no other service can read it', () => {
    const mounting = (volume: string): string[] =>
      Object.entries(compose.services).flatMap(([name, { volumes = [] }]) =>
        volumes.some((each) => each.startsWith(`${volume}:`)) ? [name] : [],
      );
    const { kept_key_file: key, request_file: request, cert_file: chain } = parse(file).broker.tls;
    const mountOf = (volume: string): string | undefined =>
      broker.volumes?.find((each) => each.startsWith(`${volume}:`))?.split(':')[1];
    expect(mounting('broker-key')).toEqual(['broker']);
    expect(key.startsWith(`${mountOf('broker-key')}/`)).toBe(true);
    expect(mounting('certificate')).toEqual(['broker', 'certificate']);
    for (const path of [request, chain]) expect(path.startsWith(`${mountOf('certificate')}/`)).toBe(true);
    // It reaches neither the broker nor Redis, and the balancer reaches it when the authority asks.
    expect(compose.services.certificate?.networks).toEqual(['web']);
    expect(compose.services.certificate?.secrets).toBeUndefined();
    // Both folders are in the image, because a new volume gets the owner of the folder that it replaces.
    const image = readOwn('deploy/images/broker.Dockerfile');
    expect(image).toContain('COPY --from=build --chown=65532:65532 /out-state/ /var/lib/');
    for (const name of ['key', 'tls']) expect(image).toContain(`/out-state/sotto-broker/${name}`);
  });

  it('without a domain listens on loopback alone, and gives each plane settings that it accepts', () => {
    const local = interpolated(parse(readOwn('deploy/compose/localhost.yml')), variables) as ComposeFile;
    const { loopback, control: ofControl, broker: ofBroker, ...others } = local.services;
    expect(loopback?.ports?.length).toBe(2);
    for (const port of loopback?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(loopback?.image).toBe(compose.services.balancer?.image);
    expect(Object.keys(others).sort()).toEqual(['balancer', 'caddy', 'certificate']);
    for (const service of Object.values(others)) expect(service).toEqual({ profiles: ['domain'] });
    const settings = [
      ['control', { ...control.environment, ...ofControl?.environment }],
      ['broker', { ...broker.environment, ...ofBroker?.environment }],
    ] as const;
    for (const [plane, environment] of settings) expect(problemOf(plane, environment, file)).toBeUndefined();
  });

  it('runs the planes without privileges', () => {
    for (const plane of [control, broker])
      expect(plane).toMatchObject({
        ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
        ulimits: { core: 0 },
      });
  });
});
