import type { RowanError } from '../../errors.js';
import { Telemetry, type TelemetryApi } from '../../table/telemetry.js';

/** OpenTelemetry: spans and durations of operations, and durations of single requests. */
export class CallTelemetry extends Telemetry {
  private readonly calls = this.meter.createHistogram('rowan.hbase.call.duration', {
    unit: 's',
    description: 'Duration of single requests to servers.',
  });

  constructor(api: TelemetryApi) {
    super(api, 'hbase');
  }

  callEnded(server: string, method: string, milliseconds: number, error: RowanError | undefined): void {
    this.calls.record(milliseconds / 1000, {
      'rpc.method': method,
      'server.address': server,
      ...(error !== undefined && { 'error.type': error.code }),
    });
  }

  gauge(name: string, description: string, read: () => number): void {
    this.observe(name, 'gauge', { description }, read);
  }
}
