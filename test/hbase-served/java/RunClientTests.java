import java.util.Arrays;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the test classes that are its arguments, and prints a line for each test: what became of it, its name, and why. */
public class RunClientTests implements TestExecutionListener {
  private static void print(String outcome, TestIdentifier test, String why) {
    String name = test.getSource().filter(MethodSource.class::isInstance).map(source -> ((MethodSource) source).getMethodName())
        .orElse("") + " " + test.getDisplayName();
    System.out.println("TEST\t" + outcome + "\t" + name + "\t" + why.replaceAll("\\s+", " "));
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    print("skipped", test, reason);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    String why = result.getThrowable().map(String::valueOf).orElse("");
    result.getThrowable().ifPresent(Throwable::printStackTrace);
    switch (result.getStatus()) {
      case SUCCESSFUL:
        if (test.isTest()) print("passed", test, "");
        break;
      case ABORTED:
        print("skipped", test, why);
        break;
      default:
        print("failed", test, why);
    }
  }

  public static void main(String[] classes) {
    LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
    Arrays.stream(classes).map(DiscoverySelectors::selectClass).forEach(request::selectors);
    LauncherFactory.create().execute(request.build(), new RunClientTests());
    System.exit(0);
  }
}
