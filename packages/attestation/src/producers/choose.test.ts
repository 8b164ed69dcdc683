import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AttestationMode, chooseProducer, type MachineAbilities, probeMachine } from './choose.ts';

const nothing: MachineAbilities = { configfs: undefined, dstack: undefined, device: undefined };
const [configfs, dstack, device] = ['/report', '/dstack.sock', '/dev/tdx_guest'];

describe('chooseProducer', () => {
  it.each<[string, AttestationMode, Partial<MachineAbilities>, boolean, string]>([
    ['off, whatever there is', 'off', { configfs, dstack, device }, true, 'off'],
    ['configfs before dstack', 'auto', { configfs, dstack, device }, true, 'configfs'],
    ['dstack where there is no configfs', 'auto', { dstack, device }, true, 'dstack'],
    ['simulation in development', 'auto', {}, false, 'simulated'],
    ['no simulation in production', 'auto', {}, true, 'refused'],
    ['no simulation inside hardware', 'auto', { device }, false, 'refused'],
    ['simulation when asked for', 'simulated', {}, false, 'simulated'],
    ['no simulation in production, also when asked for', 'simulated', {}, true, 'refused'],
    ['no simulation inside hardware, also when asked for', 'simulated', { device }, false, 'refused'],
    ['dstack when asked for', 'dstack', { configfs, dstack }, true, 'dstack'],
    ['no hardware outside production', 'auto', { configfs, device }, false, 'refused'],
    ['no configfs outside production, also when asked for', 'configfs', { configfs }, false, 'refused'],
    ['no dstack outside production, also when asked for', 'dstack', { dstack }, false, 'refused'],
    ['no dstack where there is none', 'dstack', { configfs }, true, 'refused'],
    ['no configfs where there is none', 'configfs', { dstack }, true, 'refused'],
  ])('%s', (_, mode, abilities, isProduction, kind) => {
    expect(chooseProducer(mode, { ...nothing, ...abilities }, isProduction).kind).toBe(kind);
  });
});

describe('probeMachine', () => {
  it('finds the directory, the socket and no device', async () => {
    const root = await mkdtemp(join(tmpdir(), 'sotto-probe-'));
    expect(await probeMachine(root)).toEqual(nothing);
    await mkdir(join(root, 'sys/kernel/config/tsm/report'), { recursive: true });
    await mkdir(join(root, 'run'));
    // A file in place of the device does not count.
    await mkdir(join(root, 'dev/tdx_guest'), { recursive: true });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, 'run/dstack.sock'), resolve));
    expect(await probeMachine(root)).toEqual({
      configfs: join(root, 'sys/kernel/config/tsm/report'),
      dstack: join(root, 'run/dstack.sock'),
      device: undefined,
    });
    await new Promise((resolve) => server.close(resolve));
    await rm(root, { recursive: true });
  });
});
