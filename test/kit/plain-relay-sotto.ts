// The command `sotto` for tests of relays on a service without TLS. The real command refuses that.
import { processTerminal, sotto } from '@sotto/client/testing';

process.exitCode = await sotto({ ...processTerminal, relaysPlainHttp: true }, process.argv.slice(2));
