import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system with an fsync in each hflush. PerformanceEvaluation asks for SYNC_WAL, for which HBase only calls hflush,
 * whatever `hbase.wal.hsync` says; the plain local file system then leaves the edits in the memory of the operating system.
 */
public class SyncedFileSystem extends RawLocalFileSystem {
  @Override
  protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
      throws IOException {
    return new Synced(super.createOutputStreamWithMode(path, append, permission));
  }

  private static final class Synced extends FilterOutputStream implements Syncable, StreamCapabilities {
    Synced(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void hflush() throws IOException {
      hsync();
    }

    @Override
    public void hsync() throws IOException {
      ((Syncable) out).hsync();
    }

    @Override
    public boolean hasCapability(String capability) {
      return ((StreamCapabilities) out).hasCapability(capability);
    }
  }
}
