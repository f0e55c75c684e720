import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.spdy.SpdyHeaders;
import io.netty.handler.codec.spdy.SpdyHeaders.HttpNames;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** What came on one stream. */
final class Response {
    private final String path;
    private final boolean isPushed;
    private final MessageDigest hash;
    private String status = "null";
    private long bytes;

    Response(String path, boolean isPushed) {
        this.path = path;
        this.isPushed = isPushed;
        try {
            hash = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError(error);
        }
    }

    void take(SpdyHeaders head) {
        CharSequence said = head.get(HttpNames.STATUS);
        if (said != null) {
            status = said.toString().split(" ")[0];
        }
    }

    void take(ByteBuf content) {
        bytes += content.readableBytes();
        hash.update(content.nioBuffer());
    }

    String json() {
        return String.format(
                "{\"path\": \"%s\", \"status\": %s, \"bytes\": %d, \"sha256\": \"%s\", \"pushed\": %s}",
                path, status, bytes, ByteBufUtil.hexDump(hash.digest()), isPushed);
    }
}
