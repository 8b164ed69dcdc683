import type { Penalty } from '@sotto/router';
import { type CatalogSnapshot, maxMeasurementRecords, type State } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { amounts, byTicket, type DrivenState, result } from './world.ts';

export function sharedSuite(driven: DrivenState): void {
  const { fund, mint, putKey, redeem, settle, wallet } = driven;
  describe('what all share', () => {
    const snapshot = (version: number): CatalogSnapshot => ({
      v: 1,
      version,
      digest: `digest-${version}`,
      file: { models: [] },
    });

    test('an older catalog never replaces a newer one', async () => {
      expect(await driven.state.readCatalog(0)).toBeUndefined();
      expect(await driven.state.catalogVersion()).toBeUndefined();
      await driven.state.publishCatalog(snapshot(10));
      await driven.state.publishCatalog(snapshot(9));
      await driven.state.publishCatalog({ ...snapshot(10), digest: 'another' });
      expect(await driven.driver?.other.readCatalog(0)).toEqual(snapshot(10));
      expect(await driven.state.readCatalog(9)).toEqual(snapshot(10));
      expect(await driven.state.readCatalog(10)).toBeUndefined();
      expect(await driven.state.catalogVersion()).toBe(10);
      await driven.state.publishCatalog(snapshot(11));
      expect(await driven.state.readCatalog(10)).toEqual(snapshot(11));
    });

    test('the registry is what was published last', async () => {
      expect(await driven.state.readRegistry()).toBeUndefined();
      await driven.state.publishRegistry({ digest: 'first', providers: [] });
      const provider = { id: 'acme', name: 'Acme', listed: true, privacy_class: 'private', available: true } as const;
      const registry = { digest: 'second', providers: [provider] };
      await driven.state.publishRegistry(registry);
      expect(await driven.driver?.other.readRegistry()).toEqual(registry);
    });

    test('no strike is lost when many strike at once, from two processes', async () => {
      const strike = (current: Penalty | undefined): Penalty => ({
        kind: 'timeout',
        strikes: (current?.strikes ?? 0) + 1,
        lastStrikeAt: 1,
        expiresAt: 2,
      });
      expect(await driven.state.readPenalties()).toEqual(new Map());
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          (index % 2 === 0 ? driven.state : driven.driver?.other)?.updatePenalty(
            index < 50 ? 'route:a' : 'route:b',
            strike,
          ),
        ),
      );
      const penalty = { kind: 'timeout', lastStrikeAt: 1, expiresAt: 2 };
      expect(await driven.state.readPenalties()).toEqual(
        new Map([
          ['route:a', { ...penalty, strikes: 50 }],
          ['route:b', { ...penalty, strikes: 10 }],
        ]),
      );
    });

    test('a catalog, a registry and a penalty that another process writes wake who watches', async () => {
      let woken = 0;
      const watch = driven.state.watchPublished(() => {
        woken += 1;
      });
      watch.start();
      onTestFinished(watch.stop);
      const other = driven.driver?.other ?? driven.state;
      await other.publishCatalog(snapshot(10));
      await until(() => woken > 0, 'it is woken by the catalog, or by the beginning of its connection');
      const penalty = { kind: 'timeout', strikes: 1, lastStrikeAt: 1, expiresAt: 2 } as const;
      const writes = [
        () => other.publishCatalog(snapshot(11)),
        () => other.publishRegistry({ digest: 'first', providers: [] }),
        () => other.updatePenalty('route:a', () => penalty),
      ];
      for (const write of writes) {
        const before = woken;
        await write();
        await until(() => woken > before, 'it is woken by the next write');
      }
    });

    const share = (by: State | undefined, hour: number, source: string, records: Record<string, string>) =>
      by?.shareMeasurements({ hour, source, records: new Map(Object.entries(records)) });
    const measurements = async (hour: number, cursor?: string) => {
      const page = await driven.state.readMeasurements(hour, cursor);
      const named = page.records.map(({ source, routeId, record }) => [source, routeId, record].join(' '));
      return { ...page, records: named.sort() };
    };
    /** Reads an hour to its end. Resolves to the records of each page. */
    const pagesOf = async (hour: number) => {
      const pages: Awaited<ReturnType<State['readMeasurements']>>['records'][] = [];
      for (let cursor: string | undefined, isLast = false; !isLast; ) {
        const page = await driven.state.readMeasurements(hour, cursor);
        pages.push(page.records);
        ({ cursor, isLast } = page);
      }
      return pages;
    };

    test('measurements: a record stands beside those of other sources and hours, and sent again counts once', async () => {
      await Promise.all([
        share(driven.state, 100, 'one', { 'm/a|b@x': '1;1;;;;' }),
        share(driven.driver?.other, 100, 'two', { 'm/a|b@x': '5;4;;;;', 'm/b@x': '2;2;;;;' }),
        share(driven.driver?.other, 101, 'two', { 'm/b@x': '3;3;;;;' }),
        share(driven.state, 101, 'one', {}),
      ]);
      await share(driven.state, 100, 'one', { 'm/a|b@x': '2;1;;;;' });
      await share(driven.state, 100, 'one', { 'm/a|b@x': '2;1;;;;' });
      const found = await measurements(100);
      expect(found).toMatchObject({
        records: ['one m/a|b@x 2;1;;;;', 'two m/a|b@x 5;4;;;;', 'two m/b@x 2;2;;;;'],
        isLast: true,
      });
      expect((await measurements(101)).records).toEqual(['two m/b@x 3;3;;;;']);
      expect(await measurements(102)).toMatchObject({ records: [], isLast: true });
    });

    test('measurements: a reader is told only what has changed since it read last', async () => {
      expect(await measurements(100)).toMatchObject({ records: [] });
      await share(driven.state, 100, 'one', { a: '1;1;;;;', b: '1;1;;;;' });
      const first = await measurements(100, (await measurements(100)).cursor);
      expect(first.records).toEqual([]);
      await share(driven.driver?.other, 100, 'one', { b: '2;2;;;;' });
      const second = await measurements(100, first.cursor);
      expect(second.records).toEqual(['one b 2;2;;;;']);
      expect((await measurements(100, second.cursor)).records).toEqual([]);
    });

    test('measurements: more than a page is read to its end, each record once', async () => {
      const routes = Array.from({ length: 1201 }, (_, index) => `route-${index}`);
      await share(driven.state, 100, 'one', Object.fromEntries(routes.map((id) => [id, '1;1;;;;'])));
      const pages = await pagesOf(100);
      expect(pages).toHaveLength(3);
      const read = pages.flat().map(({ routeId }) => routeId);
      expect(read.sort()).toEqual(routes.sort());
    });

    test('measurements: an hour keeps a bounded number of records, and goes on with those it has', async () => {
      const limit = maxMeasurementRecords;
      for (let at = 0; at < limit; at += 5000) {
        const ids = Array.from({ length: 5000 }, (_, index) => [`route-${at + index}`, '1;1;;;;']);
        await share(driven.state, 100, 'one', Object.fromEntries(ids));
      }
      await share(driven.driver?.other, 100, 'two', { 'route-0': '1;1;;;;' });
      await share(driven.state, 100, 'one', { 'route-0': '7;7;;;;' });
      const records = (await pagesOf(100)).flat();
      expect(records).toHaveLength(limit);
      expect(records.at(-1)).toMatchObject({ source: 'one', routeId: 'route-0', record: '7;7;;;;' });
    });
  });

  test('a free request needs no balance, and still uses up its ticket', async () => {
    await fund(-5n);
    await putKey({ limitFundsNusd: -1n });
    expect(await mint()).toEqual(result('insufficient'));
    const free = { right: byTicket, amountNusd: 0n, free: true };
    expect(await mint({ free: true })).toEqual({ result: 'minted' });
    expect(await redeem({ right: byTicket, amountNusd: 0n })).toEqual(result('insufficient'));
    await expect(redeem({ ...free, amountNusd: 1n })).rejects.toThrow(RangeError);
    expect(await redeem(free)).toEqual(result('admitted'));
    expect(await redeem({ ...free, holdId: 'again' })).toEqual(result('invalid_ticket'));
    await settle(0n);
    expect(await wallet()).toEqual(amounts(0n, 0n));
  });
}
