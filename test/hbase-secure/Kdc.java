import java.io.File;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;
import org.apache.kerby.kerberos.kerb.type.ticket.TgtTicket;

/**
 * A KDC that lives until its standard input ends. Arguments: folder, realm, port, then what to make: "keytab FILE
 * PRINCIPAL,..." or "cache FILE PRINCIPAL", a ticket cache with a fresh ticket.
 */
public class Kdc {
  public static void main(String[] args) throws Exception {
    SimpleKdcServer kdc = new SimpleKdcServer();
    kdc.setWorkDir(new File(args[0]));
    kdc.setKdcHost("localhost");
    kdc.setKdcRealm(args[1]);
    kdc.setAllowUdp(false);
    kdc.setAllowTcp(true);
    kdc.setKdcTcpPort(Integer.parseInt(args[2]));
    kdc.init();
    kdc.start();
    for (int at = 3; at < args.length; at += 3) {
      File file = new File(args[at + 1]);
      if (args[at].equals("keytab")) {
        kdc.createAndExportPrincipals(file, args[at + 2].split(","));
      } else {
        String principal = args[at + 2];
        kdc.createPrincipal(principal, "a secret of the tests");
        TgtTicket ticket = kdc.getKrbClient().requestTgt(principal, "a secret of the tests");
        kdc.getKrbClient().storeTicket(ticket, file);
      }
    }
    System.out.println("READY");
    while (System.in.read() >= 0) {}
    kdc.stop();
    System.exit(0);
  }
}
